package throttle

import (
	"math"
	"time"
)

const (
	// The supply of a backend with a queue inside does not change if this part of the calls that it accepts in T are
	// open. Most of them are served then, and do not wait.
	rightLength = 0.4
	// The queue is hardly one if it is shorter, in the mean of some seconds.
	leastLength = 0.75 * rightLength
	smoothing   = 2.0
)

// queue is the state of the calls that wait inside a backend.
type queue struct {
	late   bool    // late calls count as rejected
	found  bool    // with a learned Slow
	length float64 // if found: see queueLength
}

// queue returns the state of the calls that wait inside the backend.
func (t *Throttle) queue() queue {
	w := t.watch.Load()
	switch {
	case w == nil:
		return queue{}
	case w.learner == nil:
		return queue{late: t.hasBooked()}
	case !w.gate.full.Load():
		return queue{}
	}
	return queue{late: true, found: true, length: w.queueLength()}
}

// queueLength returns the open calls for each one that the backend accepts in T.
func (w *watch) queueLength() float64 {
	return float64(w.openCalls()) / float64(max(1, w.gate.room.Load()))
}

// change returns how much larger the supply becomes: up to k times. It keeps the queue short, and not empty: then as
// much is accepted as the backend can do.
func (q queue) change(k float64) float64 {
	if q.length < rightLength {
		return 1 + (k-1)*math.Pow(1-q.length/rightLength, 2)
	}
	return max(leastChange, 1-(1-leastChange)*(q.length-rightLength)/(1-rightLength))
}

// smoothed is the mean of a value that was measured at different times. Older ones count less.
type smoothed struct {
	value float64
	at    time.Duration
}

// add adds a value, and returns the mean. A value of a time before the last one changes nothing.
func (s *smoothed) add(now time.Duration, value float64) float64 {
	s.value += (value - s.value) * (1 - math.Exp(-max(0, (now-s.at).Seconds())/smoothing))
	s.at = now
	return s.value
}
