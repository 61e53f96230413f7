package window

import (
	"sync"
	"sync/atomic"
	"time"
)

// Shape is the size of a window.
type Shape struct {
	Span    time.Duration // length of the window
	Buckets int           // parts of the span; events leave the window one bucket at a time
	Recent  int           // number of the newest closed buckets in Reading.Recent, beside the open one
	Rows    int
	Stripes int // rounded up to a power of two; 0 selects it by the number of processors
}

// Counts are the sums of one row over some time.
type Counts struct {
	Accepted, Rejected, Shed uint64
	Full                     uint64 // part of Rejected: column Full
}

// Refused returns the number of rejected and shed calls.
func (c Counts) Refused() uint64 { return c.Rejected + c.Shed }

// Requests returns the number of accepted, rejected and shed calls.
func (c Counts) Requests() uint64 { return c.Accepted + c.Refused() }

// Minus returns the difference between c and earlier counts.
func (c Counts) Minus(earlier Counts) Counts {
	return Counts{c.Accepted - earlier.Accepted, c.Rejected - earlier.Rejected, c.Shed - earlier.Shed, c.Full - earlier.Full}
}

// Sum adds up the counts of rows.
func Sum(rows []Counts) (sum Counts) {
	for i := range rows {
		sum.Accepted += rows[i].Accepted
		sum.Rejected += rows[i].Rejected
		sum.Shed += rows[i].Shed
		sum.Full += rows[i].Full
	}
	return sum
}

// Reading holds the counts of a window at one instant, one entry per row.
type Reading struct {
	Span   []Counts // of the last Shape.Span
	Recent []Counts // of the recent buckets; nil if not wanted
	Ever   []Counts // since New; nil if not wanted
}

// Window is a table of counters that also keeps the counts of the last Shape.Span. Times are
// durations since New. If a clock runs backwards, its latest time is used. If it jumps back by more
// than twice the span, time continues from there. All methods are safe for concurrent use.
type Window struct {
	cells   []Row // all rows of the first stripe, then those of the next
	stride  int   // rows per stripe
	mask    uint64
	width   time.Duration
	maxBack time.Duration // a clock that is back by more has jumped
	ends    atomic.Int64  // end of the open bucket; stored after all changes of the ring
	_       [64]byte      // the fields above are read by every call

	mu           sync.Mutex
	open         int64 // number of the open bucket
	ahead        int64 // buckets by which numbers are ahead of the clock, after it jumped back
	ring         [][]bucket
	recent       int64    // number of recent buckets
	beforeOpen   []Counts // totals at the beginning of the open bucket
	beforeRecent []Counts // totals at the beginning of the oldest recent bucket
	beforeSpan   []Counts // totals at the beginning of the oldest bucket
}

// maxTime prevents overflow: clocks come from users.
const maxTime = time.Duration(1 << 62)

// bucket holds the counts of one row in one time bucket. The longest bucket has 6 minutes, so 32
// bits are enough for 12 million events per second.
type bucket struct {
	accepted, rejected, shed, full uint32
}

// New returns an empty window. It does not validate the shape. Buckets and Rows must be positive,
// Recent at most Buckets, and Span at least one nanosecond per bucket.
func New(s Shape) *Window {
	stripes := stripesFor(s.Stripes)
	stride := s.Rows + s.Rows%2 // pairs of cache lines are fetched together
	w := &Window{
		cells:        make([]Row, stripes*stride),
		stride:       stride,
		mask:         uint64(stripes - 1),
		width:        s.Span / time.Duration(s.Buckets),
		maxBack:      2 * s.Span,
		ring:         make([][]bucket, s.Buckets),
		recent:       int64(s.Recent),
		beforeOpen:   make([]Counts, s.Rows),
		beforeRecent: make([]Counts, s.Rows),
		beforeSpan:   make([]Counts, s.Rows),
	}
	all := make([]bucket, s.Buckets*s.Rows)
	for i := range w.ring {
		w.ring[i] = all[i*s.Rows : (i+1)*s.Rows]
	}
	w.ends.Store(int64(w.width))
	return w
}

// Due reports whether the open bucket has ended. Call Roll then, before the next event is counted.
func (w *Window) Due(now time.Duration) bool {
	return w.Over(time.Duration(w.ends.Load()), now)
}

// Over reports whether now is at or after end. It also reports true if the clock has jumped back,
// so that end is too far in the future.
func (w *Window) Over(end, now time.Duration) bool {
	return uint64(end-now-1) >= uint64(w.maxBack)
}

// Ends returns when the open bucket ends.
func (w *Window) Ends() time.Duration { return time.Duration(w.ends.Load()) }

// Roll closes the open bucket if it has ended, and drops the buckets that are older than the span.
//
// Roll does not wait for a concurrent Roll, with one exception. If no bucket was closed for more
// than one bucket's width, it waits: an event counted before the other Roll is done would belong to
// the time before the pause.
func (w *Window) Roll(now time.Duration) {
	if !w.Due(now) {
		return
	}
	if !w.mu.TryLock() {
		if int64(now-w.width) < w.ends.Load() {
			return
		}
		w.mu.Lock()
	}
	w.roll(now)
	w.mu.Unlock()
}

// ReadAt fills r with the counts at now.
func (w *Window) ReadAt(now time.Duration, r Reading) {
	w.mu.Lock()
	w.roll(now)
	w.read(r)
	w.mu.Unlock()
}

// Read fills r with the counts at the last Roll, and the events since then.
func (w *Window) Read(r Reading) {
	w.mu.Lock()
	w.read(r)
	w.mu.Unlock()
}

func (w *Window) read(r Reading) {
	w.Ever(r.Span)
	copy(r.Ever, r.Span)
	copy(r.Recent, r.Span)
	for row, c := range r.Recent {
		r.Recent[row] = c.Minus(w.beforeRecent[row])
	}
	for row, c := range r.Span {
		r.Span[row] = c.Minus(w.beforeSpan[row])
	}
}

// Ever fills sums with the counts since New, one entry per row.
func (w *Window) Ever(sums []Counts) {
	for row := range sums {
		sums[row] = w.total(row)
	}
}

// Width returns the length of a bucket.
func (w *Window) Width() time.Duration { return w.width }

// roll is Roll with the lock held.
func (w *Window) roll(now time.Duration) {
	if !w.Due(now) {
		return
	}
	next := int64(min(now, maxTime)/w.width) + w.ahead
	switch {
	case next < w.open:
		w.ahead += w.open - next
	case next-w.open > int64(len(w.ring)):
		w.reset()
		w.open = next
	case next > w.open:
		w.advance(next)
		w.open = next
	}
	w.ends.Store((w.open - w.ahead + 1) * int64(w.width))
}

// advance closes the open bucket and opens bucket next. The buckets between them are empty.
func (w *Window) advance(next int64) {
	n := int64(len(w.ring))
	for number := w.open; number < next; number++ {
		if w.recent > 0 {
			w.dropRecent((number - w.recent + n) % n)
		}
		slot := w.ring[number%n]
		for row := range slot {
			w.beforeSpan[row].addBucket(slot[row])
			slot[row] = bucket{}
		}
		if number == w.open {
			w.close(slot)
		}
	}
}

// dropRecent removes the bucket in a slot from the recent ones.
func (w *Window) dropRecent(slot int64) {
	for row, b := range w.ring[slot] {
		w.beforeRecent[row].addBucket(b)
	}
}

// close fills slot with the counts of the open bucket.
func (w *Window) close(slot []bucket) {
	for row := range slot {
		now := w.total(row)
		slot[row] = now.since(w.beforeOpen[row])
		w.beforeOpen[row] = now
	}
}

// reset empties the ring, after a pause longer than the span.
func (w *Window) reset() {
	for _, slot := range w.ring {
		clear(slot)
	}
	w.Ever(w.beforeOpen)
	copy(w.beforeRecent, w.beforeOpen)
	copy(w.beforeSpan, w.beforeOpen)
}

// total returns the counts of a row since New.
func (w *Window) total(row int) Counts {
	var sum Counts
	for i := row; i < len(w.cells); i += w.stride {
		w.cells[i].addTo(&sum)
	}
	return sum
}

// since returns the difference between c and earlier counts, as a bucket.
func (c Counts) since(before Counts) bucket {
	return bucket{
		accepted: uint32(c.Accepted - before.Accepted),
		rejected: uint32(c.Rejected - before.Rejected),
		shed:     uint32(c.Shed - before.Shed),
		full:     uint32(c.Full - before.Full),
	}
}

func (c *Counts) addBucket(b bucket) {
	c.Accepted += uint64(b.accepted)
	c.Rejected += uint64(b.rejected)
	c.Shed += uint64(b.shed)
	c.Full += uint64(b.full)
}
