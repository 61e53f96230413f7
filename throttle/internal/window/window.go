package window

import (
	"sync"
	"sync/atomic"
	"time"
)

// Shape says how large a window is.
type Shape struct {
	Span    time.Duration // how long an event is remembered
	Buckets int           // in how many steps it is forgotten
	Recent  int           // how many of the newest closed buckets are recent, beside the open one; 0 if nobody asks
	Rows    int
	Stripes int // rounded up to a power of two; 0 fits the machine
}

// Counts are the sums of one row over some time.
type Counts struct {
	Accepted, Rejected, Shed uint64
}

// Reading is what a window knows at one instant, one entry per row.
type Reading struct {
	Span   []Counts // what is remembered
	Recent []Counts // the newest part of it, as the window's shape says; nil if not wanted
	Ever   []Counts // everything since the window was made; nil if not wanted
}

// Window is a table of counters with a memory of Shape.Span. Times are given as the duration since the window was
// made. A time before the latest one seen is taken for the latest; after a clock has jumped back by more than twice the
// span, time goes on from there. All methods are safe for concurrent use.
type Window struct {
	cells  []Row // stripe after stripe, each of stride rows
	stride int
	mask   uint64
	width  time.Duration
	back   time.Duration // how far back a time is taken for the latest
	ends   atomic.Int64  // when the open bucket ends; published after the ring is in order
	number atomic.Int64  // of the open bucket, for others
	_      [64]byte      // keep the ring's lock away from what every call reads

	mu     sync.Mutex
	open   int64 // number of the open bucket
	lead   int64 // how many buckets the numbers are ahead of the clock, which has jumped back
	ring   [][]bucket
	recent int64    // how many of its buckets are recent
	closed []Counts // totals when the open bucket was opened
	fresh  []Counts // totals when the oldest recent bucket was opened
	oldest []Counts // totals when the oldest remembered bucket was opened
}

// endOfTime keeps arithmetic on times from overflowing: a clock may be anybody's.
const endOfTime = time.Duration(1 << 62)

// bucket holds what happened in one row during one bucket. Thirty-two bits last for 143 million events a second in
// a bucket of 30 s, and for 12 million in one of 6 minutes, the longest in the house.
type bucket struct {
	accepted, rejected, shed uint32
}

// New returns an empty window. The shape is the caller's to validate: each number but Recent and Stripes must be positive,
// Recent at most Buckets, and Span at least one nanosecond per bucket.
func New(s Shape) *Window {
	stripes := stripesFor(s.Stripes)
	stride := s.Rows + s.Rows%2 // pairs of cache lines are fetched together
	w := &Window{
		cells:  make([]Row, stripes*stride),
		stride: stride,
		mask:   uint64(stripes - 1),
		width:  s.Span / time.Duration(s.Buckets),
		back:   2 * s.Span,
		ring:   make([][]bucket, s.Buckets),
		recent: int64(s.Recent),
		closed: make([]Counts, s.Rows),
		fresh:  make([]Counts, s.Rows),
		oldest: make([]Counts, s.Rows),
	}
	all := make([]bucket, s.Buckets*s.Rows)
	for i := range w.ring {
		w.ring[i] = all[i*s.Rows : (i+1)*s.Rows]
	}
	w.ends.Store(int64(w.width))
	return w
}

// Due reports whether the open bucket has ended by now, so that Roll must come before the next event is counted.
func (w *Window) Due(now time.Duration) bool {
	return w.Over(time.Duration(w.ends.Load()), now)
}

// Over reports whether what lasts until end is over by now, or was never to be because the clock has jumped back.
func (w *Window) Over(end, now time.Duration) bool {
	return uint64(end-now-1) >= uint64(w.back)
}

// Number returns the number of the open bucket. It only grows, also when the clock jumps back.
func (w *Window) Number() int64 { return w.number.Load() }

// Ends returns when the open bucket ends.
func (w *Window) Ends() time.Duration { return time.Duration(w.ends.Load()) }

// Roll closes the open bucket if it has ended by now, and forgets what is older than the span.
//
// It never waits for another Roll that is under way, but for one case: after a pause of more than a bucket an event
// counted too early would be booked at the time of the pause's beginning.
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

// ReadAt fills r with what the window knows now.
func (w *Window) ReadAt(now time.Duration, r Reading) {
	w.mu.Lock()
	w.roll(now)
	w.read(r)
	w.mu.Unlock()
}

// Read fills r with what the window knew at the last Roll, and what has happened since.
func (w *Window) Read(r Reading) {
	w.mu.Lock()
	w.read(r)
	w.mu.Unlock()
}

func (w *Window) read(r Reading) {
	w.Ever(r.Span)
	copy(r.Ever, r.Span)
	copy(r.Recent, r.Span)
	for row := range r.Recent {
		r.Recent[row].subtract(w.fresh[row])
	}
	for row := range r.Span {
		r.Span[row].subtract(w.oldest[row])
	}
}

// Ever fills sums, one per row, with what has happened since the window was made.
func (w *Window) Ever(sums []Counts) {
	for row := range sums {
		sums[row] = w.everRow(row)
	}
}

// Suffixes calls visit with what happened since each bucket began, from the newest bucket to the oldest: what would be remembered
// later, if nothing more happened. Age is how many closed buckets that is. It also fills ever as Ever does, at the same instant. Visit
// gets a slice that is used again, runs under the window's lock and must not call the window. Scratch and ever need one entry
// per row.
func (w *Window) Suffixes(ever, scratch []Counts, visit func(age int, since []Counts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Ever(ever)
	for i := range scratch {
		scratch[i] = ever[i]
		scratch[i].subtract(w.closed[i])
	}
	visit(0, scratch)
	n := int64(len(w.ring))
	for age := int64(1); age <= min(n, w.open); age++ {
		for i, b := range w.ring[(w.open-age)%n] {
			scratch[i].addBucket(b)
		}
		visit(int(age), scratch)
	}
}

// Buckets returns the number of closed buckets that the window remembers beside the open one.
func (w *Window) Buckets() int { return len(w.ring) }

// Width returns the length of a bucket.
func (w *Window) Width() time.Duration { return w.width }

// roll does the work of Roll under the lock.
func (w *Window) roll(now time.Duration) {
	if !w.Due(now) {
		return
	}
	next := int64(min(now, endOfTime)/w.width) + w.lead
	switch {
	case next < w.open:
		w.lead += w.open - next
	case next-w.open > int64(len(w.ring)):
		w.forget()
		w.open = next
	case next > w.open:
		w.advance(next)
		w.open = next
	}
	w.number.Store(w.open)
	w.ends.Store((w.open - w.lead + 1) * int64(w.width))
}

// advance closes the open bucket and moves on to bucket next, leaving the ones between empty.
func (w *Window) advance(next int64) {
	n := int64(len(w.ring))
	for number := w.open; number < next; number++ {
		if w.recent > 0 {
			w.age((number - w.recent + n) % n)
		}
		slot := w.ring[number%n]
		for row := range slot {
			w.oldest[row].addBucket(slot[row])
			slot[row] = bucket{}
		}
		if number == w.open {
			w.close(slot)
		}
	}
}

// age takes the bucket in a slot out of the recent ones.
func (w *Window) age(slot int64) {
	for row, b := range w.ring[slot] {
		w.fresh[row].addBucket(b)
	}
}

// close fills slot with what happened in the open bucket.
func (w *Window) close(slot []bucket) {
	for row := range slot {
		now := w.everRow(row)
		slot[row] = now.since(w.closed[row])
		w.closed[row] = now
	}
}

// forget empties the ring: nothing has happened for longer than the span.
func (w *Window) forget() {
	for _, slot := range w.ring {
		clear(slot)
	}
	w.Ever(w.closed)
	copy(w.fresh, w.closed)
	copy(w.oldest, w.closed)
}

func (w *Window) everRow(row int) Counts {
	var sum Counts
	for i := row; i < len(w.cells); i += w.stride {
		w.cells[i].addTo(&sum)
	}
	return sum
}

// since returns what has been counted since before, as a bucket.
func (c Counts) since(before Counts) bucket {
	return bucket{
		accepted: uint32(c.Accepted - before.Accepted),
		rejected: uint32(c.Rejected - before.Rejected),
		shed:     uint32(c.Shed - before.Shed),
	}
}

func (c *Counts) subtract(other Counts) {
	c.Accepted -= other.Accepted
	c.Rejected -= other.Rejected
	c.Shed -= other.Shed
}

func (c *Counts) addBucket(b bucket) {
	c.Accepted += uint64(b.accepted)
	c.Rejected += uint64(b.rejected)
	c.Shed += uint64(b.shed)
}
