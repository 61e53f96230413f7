package throttletest

import "time"

const (
	// burst limits the unused work that a backend saves, in seconds of its capacity. It saves the
	// work of one call at least.
	burst = 0.1
	// tolerance allows for the rounding of many small refills.
	tolerance = 1e-9
)

// budget is the work that a backend can do, in served calls. It grows with time and shrinks with
// each call, served or rejected. It may become negative, as far as it may grow. So a backend with
// too many rejections serves no call, and recovers soon after they end.
type budget struct {
	capacity float64 // per second; 0 is no limit
	left     float64
	at       time.Duration // time of left
}

// serve takes the work of one served call, if there is enough, and returns true. Otherwise it takes
// the work of a rejection. If time runs backwards, it adds no work.
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

// resize sets the capacity from now on. Work that was saved or overdrawn stays, within the new
// limits. After no limit the budget is full.
func (b *budget) resize(now time.Duration, capacity float64) {
	unlimited := b.capacity == 0
	b.refill(now)
	b.capacity = capacity
	b.left = min(max(b.left, -b.most()), b.most())
	if unlimited {
		b.left = b.most()
	}
}

func (b *budget) refill(now time.Duration) {
	if now <= b.at {
		return
	}
	b.left = min(b.left+(now-b.at).Seconds()*b.capacity, b.most())
	b.at = now
}

func (b *budget) most() float64 { return max(1, burst*b.capacity) }
