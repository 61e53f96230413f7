package late

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxRows is the largest number of rows of a Ring.
	MaxRows = 16

	parts = 8  // counters per T
	slots = 16 // counters of young calls: parts, the open one, and some for a sweep that is behind

	writeOffParts = 64 // counters per write-off time
	leastWriteOff = 10 * time.Second
	writeOffRatio = 20 // write-off time in T, if that is more

	// perBooking is the number of late calls per booked one.
	perBooking = 3
)

// Ring counts open calls by row and age. Times are durations since a common start, as those of a
// window. All methods are safe for concurrent use.
type Ring struct {
	width  time.Duration // of a slot
	rows   int
	stride int // words per stripe
	// words holds, for each stripe, the number of its open calls by row, then the slots with a word per row.
	words []atomic.Uint64
	swept atomic.Int64          // slots up to this one are closed
	due   atomic.Int64          // time of the next sweep
	gone  [MaxRows]atomic.Int64 // open calls that were written off

	mu       sync.Mutex
	oldWidth time.Duration    // of a slot of late calls
	old      [][MaxRows]int64 // late calls by the time at which they began
	oldSwept int64            // slots of late calls up to this one were written off
	late     int64            // open calls that are late and not written off
	lost     map[int64]int64  // open calls that were written off, by the slot of late calls in which they began
	began    [MaxRows]int64   // calls that became late
	ended    [MaxRows]int64   // late calls that ended or were written off
	booked   [MaxRows]int64   // rejections that were booked, without those whose calls have ended
}

// Found is what [Ring.Advance] has found, by row.
type Found struct {
	Late   [MaxRows]int64 // calls that are late now
	Lost   [MaxRows]int64 // calls that are written off now
	Booked [MaxRows]int64 // rejections to book: one in three of Late, and those of Lost that were not booked
	Open   int64          // late calls that are open and not written off
}

// New returns an empty ring for calls that are late after t. It does not validate its arguments.
func New(t time.Duration, rows, stripes int) *Ring {
	r := &Ring{
		width: t / parts, rows: rows,
		stride:   (rows+7)/8*8 + slots*rows, // whole cache lines
		oldWidth: max(leastWriteOff, writeOffRatio*t) / writeOffParts,
		old:      make([][MaxRows]int64, writeOffParts+2),
		oldSwept: -1, lost: map[int64]int64{},
	}
	r.words = make([]atomic.Uint64, stripes*r.stride)
	r.setSwept(-1)
	return r
}

func (r *Ring) setSwept(slot int64) {
	r.swept.Store(slot)
	r.due.Store((slot + parts + 2) * int64(r.width))
}

// Due reports whether Advance has something to do at now.
func (r *Ring) Due(now time.Duration) bool { return int64(now) >= r.due.Load() }

// Ahead reports whether the clock was set back, so that no late call will be found for a while. A call that has read the
// clock before others is less than a second behind.
func (r *Ring) Ahead(now time.Duration) bool {
	return time.Duration(r.due.Load())-now > slots*r.width+time.Second
}

// Begin adds a call that begins at now. It returns the time for End, which is now unless the ring is ahead.
// Call Advance before, if it is due.
func (r *Ring) Begin(now time.Duration, stripe, row int) (began time.Duration) {
	wanted := int64(now / r.width)
	slot := r.clamp(wanted)
	if !enter(r.word(stripe, row, slot), epoch(slot)) {
		slot = r.beginSlowly(slot, stripe, row)
	}
	r.words[stripe*r.stride+row].Add(1)
	if slot != wanted {
		return time.Duration(slot) * r.width
	}
	return now
}

// clamp returns the slot that is next to slot and not closed. Its word is free of earlier calls.
func (r *Ring) clamp(slot int64) int64 {
	swept := r.swept.Load()
	return min(max(slot, swept+1), swept+slots)
}

// beginSlowly adds a call whose slot is being closed.
func (r *Ring) beginSlowly(slot int64, stripe, row int) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	slot = r.clamp(slot)
	enter(r.word(stripe, row, slot), epoch(slot)) // no slot can be closed meanwhile
	return slot
}

// End removes a call that began at a time that Begin returned. Booked reports whether the call counts as one of those that were
// booked as rejected when they became late or were written off: as many are as were booked.
func (r *Ring) End(began time.Duration, stripe, row int) (booked bool) {
	slot := int64(began / r.width)
	r.words[stripe*r.stride+row].Add(^uint64(0))
	if leave(r.word(stripe, row, slot), epoch(slot)) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.oldSlot(slot)
	if old <= r.oldSwept {
		r.gone[row].Add(-1)
		if r.lost[old]--; r.lost[old] == 0 {
			delete(r.lost, old)
		}
		return r.endBooked(row)
	}
	r.oldCount(old, row, -1)
	return r.endLate(row, 1) == 1 && r.endBooked(row)
}

func (r *Ring) endBooked(row int) bool {
	if r.booked[row] <= 0 {
		return false
	}
	r.booked[row]--
	return true
}

// NotBooked notes that the caller has not booked the rejections that were found.
func (r *Ring) NotBooked(f *Found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for row := range r.rows {
		r.booked[row] -= f.Booked[row]
	}
}

// Open returns the number of open calls that were not written off.
func (r *Ring) Open() int64 { return r.OpenTo(r.rows - 1) }

// OpenTo returns the number of open calls that were not written off, of the rows up to last.
func (r *Ring) OpenTo(last int) (n int64) {
	for row := range last + 1 {
		for i := row; i < len(r.words); i += r.stride {
			n += int64(r.words[i].Load())
		}
		n -= r.gone[row].Load()
	}
	return n
}

// WrittenOff returns the number of open calls that were written off.
func (r *Ring) WrittenOff() (n int64) {
	for row := range r.gone {
		n += r.gone[row].Load()
	}
	return n
}

// Advance finds the calls that are late at now, and those to write off. Ok is false if it has nothing
// to do, or if another goroutine does it.
func (r *Ring) Advance(now time.Duration) (f Found, ok bool) {
	if !r.Due(now) {
		return f, false
	}
	last := int64(now/r.width) - parts - 1
	if !r.mu.TryLock() {
		if last-r.swept.Load() < slots-parts-2 {
			return f, false
		}
		r.mu.Lock() // the slot of now is not free yet
	}
	defer r.mu.Unlock()
	if !r.Due(now) {
		return f, false
	}
	r.writeOff(int64(now/r.oldWidth)-writeOffParts-1, &f)
	for slot := max(r.swept.Load()+1, last-slots+1); slot <= last; slot++ {
		r.close(slot, &f)
	}
	r.setSwept(last)
	f.Open = r.late
	return f, true
}

// close makes all calls of a slot late. After a long pause, the word of a slot still has the calls of an
// earlier one.
func (r *Ring) close(slot int64, f *Found) {
	for stripe := range len(r.words) / r.stride {
		for row := range r.rows {
			before := r.word(stripe, row, slot).Swap(wordOf(epoch(slot)+1, 0))
			if n := int64(uint32(before)); n > 0 {
				began := slot - slots*int64(epoch(slot)-uint32(before>>32))
				r.addLate(began, row, n, f)
			}
		}
	}
}

// addLate adds calls of a slot that has been closed.
func (r *Ring) addLate(slot int64, row int, n int64, f *Found) {
	f.Late[row] += n
	r.book(row, (r.began[row]+n)/perBooking-r.began[row]/perBooking, f)
	r.began[row] += n
	if old := r.oldSlot(slot); old > r.oldSwept {
		r.oldCount(old, row, n)
	} else {
		r.lose(old, row, n, f)
	}
}

// writeOff drops the late calls that began in a slot up to last.
func (r *Ring) writeOff(last int64, f *Found) {
	for old := r.oldSwept + 1; old <= min(last, r.oldSwept+int64(len(r.old))); old++ {
		for row := range r.rows {
			if n := r.old[old%int64(len(r.old))][row]; n > 0 {
				r.oldCount(old, row, -n)
				r.lose(old, row, n, f)
			}
		}
	}
	r.oldSwept = max(r.oldSwept, last)
}

func (r *Ring) book(row int, n int64, f *Found) {
	f.Booked[row] += n
	r.booked[row] += n
}

func (r *Ring) lose(old int64, row int, n int64, f *Found) {
	f.Lost[row] += n
	r.book(row, n-max(0, min(r.endLate(row, n), r.booked[row])), f)
	r.gone[row].Add(n)
	r.lost[old] += n
}

// endLate returns how many of n calls that are not late any more were booked: one in three, because calls of a row are alike.
func (r *Ring) endLate(row int, n int64) (booked int64) {
	r.ended[row] += n
	return r.ended[row]/perBooking - (r.ended[row]-n)/perBooking
}

func (r *Ring) oldSlot(slot int64) int64 { return int64(time.Duration(slot) * r.width / r.oldWidth) }

func (r *Ring) oldCount(old int64, row int, n int64) {
	r.old[old%int64(len(r.old))][row] += n
	r.late += n
}

// Oldest returns for how long the oldest call is open at now, or 0 if no call is open. The slots make it
// up to an eighth of T too long, and for a late call a little more.
func (r *Ring) Oldest(now time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.WrittenOff() > 0 {
		return now - time.Duration(slices.Min(slices.Collect(maps.Keys(r.lost))))*r.oldWidth
	}
	for old := r.oldSwept + 1; r.late > 0 && old <= r.oldSwept+int64(len(r.old)); old++ {
		for _, n := range r.old[old%int64(len(r.old))] {
			if n > 0 {
				return now - time.Duration(old)*r.oldWidth
			}
		}
	}
	swept := r.swept.Load()
	for slot := swept + 1; slot <= swept+slots; slot++ {
		if r.holds(slot) {
			return max(0, now-time.Duration(slot)*r.width)
		}
	}
	return 0
}

// holds reports whether a slot that is not closed has calls.
func (r *Ring) holds(slot int64) bool {
	for stripe := range len(r.words) / r.stride {
		for row := range r.rows {
			if w := r.word(stripe, row, slot).Load(); uint32(w) > 0 && uint32(w>>32) == epoch(slot) {
				return true
			}
		}
	}
	return false
}
