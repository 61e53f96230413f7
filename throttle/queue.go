package throttle

import (
	"math"
	"time"
)

const (
	// The supply of a backend with a queue inside does not change if this part of the calls that it accepts in T are
	// open. Those that wait are not late then.
	rightLength = 0.8
	// There is hardly a queue if the mean length of lastingMean is less.
	leastLength = 0.25
	lastingMean = 2.0
	// Lengths are means of T, and of the time in which meanCalls calls are accepted. A small client has one open call
	// or none: if it sent more whenever there is none, it would always have one.
	meanCalls = 5
	// Nothing in the length says which client has more than its share. So the shares approach othersShare of the
	// demand a little, the more the longer the queue is. Only chance makes shares differ: much less with more than
	// manyCalls recent ones.
	lengthWeight = 0.35
	manyCalls    = 200
)

// queue is the state of the calls that wait inside a backend.
type queue struct {
	late   bool    // late calls count as rejected
	found  bool    // with a learned Slow
	length float64 // if found: the open calls for each one that the backend accepts in T
}

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
	return queue{late: true, found: true, length: math.Float64frombits(w.gate.queueLength.Load())}
}

// measureQueue measures the open calls for each one that the backend accepts in T.
func (g *gate) measureQueue(now time.Duration, w *watch, rate float64) {
	t := w.slow.Seconds()
	length := float64(w.openCalls()) / max(1, rate*t)
	g.lasting.add(now, length, lastingMean)
	g.queueLength.Store(math.Float64bits(g.recent.add(now, length, max(t, meanCalls/max(1, rate)))))
}

// change returns how much larger the supply becomes: up to k times. It keeps the queue short, and not empty: then as
// much is accepted as the backend can do.
func (q queue) change(k float64) float64 {
	if q.length < rightLength {
		return 1 + (k-1)*math.Pow(1-q.length/rightLength, 2)
	}
	return max(leastChange, 1-(1-leastChange)*(q.length-rightLength)/(1-rightLength))
}

// share returns what a client may send of its demand if the queue has the right length and it accepted that many calls
// recently.
func (q queue) share(accepted, demand float64) float64 {
	weight := lengthWeight * min(1, q.length/rightLength) * min(1, manyCalls/max(1, accepted))
	return math.Pow(accepted, 1-weight) * math.Pow(othersShare*demand, weight)
}

// smoothed is the mean of a value that was measured at different times. Older ones count less.
type smoothed struct {
	value float64
	at    time.Duration
}

// add adds a value, and returns the mean of about that many seconds. A value of a time before the last one changes nothing.
func (s *smoothed) add(now time.Duration, value, seconds float64) float64 {
	s.value += (value - s.value) * (1 - math.Exp(-max(0, (now-s.at).Seconds())/seconds))
	s.at = now
	return s.value
}
