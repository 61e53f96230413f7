package shop

import "time"

const (
	// rejectionCost is the part of a served call's work that it takes to reject one.
	rejectionCost = 0.2
	// reserve is how much unused work a backend saves up, in seconds of its capacity.
	reserve = 0.35
)

// work is what a backend can do at the moment, in served calls. It grows with time and shrinks with each call, served or
// rejected. It can be overdrawn as far as it can be saved up: a backend that is busy with rejecting serves nobody.
type work struct {
	rate float64 // per second
	left float64
	at   time.Time // when left was right
}

// newWork returns the work of a backend that is rested.
func newWork(rate float64, now time.Time) work {
	return work{rate: rate, left: rate * reserve, at: now}
}

// take takes the work for one call, or for rejecting it, and reports which.
func (w *work) take(now time.Time) (served bool) {
	w.refill(now)
	if w.left >= 1 {
		w.left--
		return true
	}
	w.left = max(w.left-rejectionCost, -w.most())
	return false
}

// change gives the backend another rate from now on.
func (w *work) change(rate float64, now time.Time) {
	w.refill(now)
	w.rate = rate
	w.left = min(max(w.left, -w.most()), w.most())
}

// strain returns how hard it is to get anything done: 0 for a rested backend, 1 for one that drowns.
func (w *work) strain() float64 {
	if w.rate == 0 {
		return 1
	}
	return (w.most() - w.left) / (2 * w.most())
}

func (w *work) refill(now time.Time) {
	if passed := now.Sub(w.at).Seconds(); passed > 0 {
		w.left = min(w.left+passed*w.rate, w.most())
		w.at = now
	}
}

// most is the work that can be saved up.
func (w *work) most() float64 { return w.rate * reserve }
