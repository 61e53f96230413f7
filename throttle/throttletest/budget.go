package throttletest

import "time"

const (
	// burst is how much unused work a backend saves up, in seconds of its capacity, but always at least one call.
	burst = 0.1
	// tolerance forgives the rounding of many small refills.
	tolerance = 1e-9
)

// budget is the work that a backend can do, in served calls. It grows with time and shrinks with each call, served or rejected. It
// may be overdrawn as far as it may be saved up, so that a backend drowned in rejections serves nobody, and is back
// soon after they stop.
type budget struct {
	capacity float64 // per second; 0 is no limit
	left     float64
	at       time.Duration // when left was right
}

// serve takes the work of one call, or that of rejecting it, and reports which. Time running backwards is ignored.
func (b *budget) serve(now time.Duration, rejectionCost float64) bool {
	if b.capacity == 0 {
		return true
	}
	b.refill(now)
	if b.left >= 1-tolerance {
		b.left--
		return true
	}
	b.left = max(b.left-rejectionCost, -b.most())
	return false
}

// resize changes the capacity from now on. What was saved up or overdrawn stays, within the new bounds; after no limit
// everything is saved up.
func (b *budget) resize(now time.Duration, capacity float64) {
	unlimited := b.capacity == 0
	b.refill(now)
	b.capacity = capacity
	b.left = min(max(b.left, -b.most()), b.most())
	if unlimited {
		b.left = b.most()
	}
}

// refill adds the work that could be done since the last time.
func (b *budget) refill(now time.Duration) {
	if now <= b.at {
		return
	}
	b.left = min(b.left+(now-b.at).Seconds()*b.capacity, b.most())
	b.at = now
}

// most is the work that can be saved up.
func (b *budget) most() float64 { return max(1, burst*b.capacity) }
