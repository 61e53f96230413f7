package overload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Service is how long the calls of a backend of kind Pool take.
type Service struct {
	Workers  int           // calls that are served at the same time, in order of arrival; 0 for all
	Patience time.Duration // after which a caller times out; its call is served nevertheless; 0 for never
	// Time returns the time of a call, from a random number in [0, 1) and the number of open calls.
	Time func(o offer, random float64, open int) time.Duration
	// Pauses are how often and for how long nothing is served.
	Every, Pause time.Duration
}

// served is the time at which a call is served.
type served struct {
	at   time.Duration
	call *waitingCall
}

// pool is a backend whose calls take some time.
type pool struct {
	*Service
	random  *rand.Rand
	slower  float64 // multiple of the times
	busy    int
	queue   []*waitingCall // that wait for a worker, in order of arrival
	callers []*waitingCall // that may time out, in order of arrival
	ends    []served       // by time
}

func (q *pool) add(c *waitingCall) {
	c.random = q.random.Float64()
	if q.Patience > 0 {
		q.callers = append(q.callers, c)
	}
	if q.Workers > 0 && q.busy == q.Workers {
		q.queue = append(q.queue, c)
		return
	}
	q.start(c.arrived, c)
}

// start begins to serve a call. Its end never comes if the backend hangs.
func (q *pool) start(at time.Duration, c *waitingCall) {
	q.busy++
	if math.IsInf(q.slower, 0) {
		return
	}
	end := at + time.Duration(q.slower*float64(q.Time(c.offer, c.random, q.busy+len(q.queue))))
	if q.Every > 0 {
		if in := at % q.Every; in < q.Pause {
			end += q.Pause - in
		}
		end += (end/q.Every - at/q.Every) * q.Pause
	}
	i, _ := slices.BinarySearchFunc(q.ends, end, func(e served, end time.Duration) int { return cmp.Or(cmp.Compare(e.at, end), -1) })
	q.ends = slices.Insert(q.ends, i, served{end, c})
}

func (q *pool) next(until time.Duration) (at time.Duration, c *waitingCall, isServed bool) {
	for len(q.callers) > 0 && q.callers[0].over {
		q.callers = q.callers[1:]
	}
	end, timeout := never, never
	if len(q.ends) > 0 {
		end = q.ends[0].at
	}
	if len(q.callers) > 0 {
		timeout = q.callers[0].arrived + q.Patience
	}
	switch at = min(end, timeout); {
	case at > until:
		return at, nil, false
	case timeout < end:
		c, q.callers = q.callers[0], q.callers[1:]
	default:
		c, q.ends, isServed = q.ends[0].call, q.ends[1:], true
		q.endWork(at)
	}
	return at, c, isServed
}

// endWork begins to serve the next call.
func (q *pool) endWork(at time.Duration) {
	q.busy--
	if len(q.queue) > 0 {
		c := q.queue[0]
		q.queue = q.queue[1:]
		q.start(at, c)
	}
}
