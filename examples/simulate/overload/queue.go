package overload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	callerTimeout   = time.Second // of the callers of a backend that queues
	maxQueueSeconds = 5           // of a healthy backend's work
	minQueueSize    = 1024        // calls for which memory is allocated
	never           = time.Duration(math.MaxInt64)
)

// events are what happens to the calls that wait at a backend.
type events interface {
	// next removes the next call that is served, or whose caller times out, until a time. A call that has timed out
	// is served nevertheless.
	next(until time.Duration) (at time.Duration, c *waitingCall, served bool)
}

// waitingCall is a call at a backend that does not answer at once.
type waitingCall struct {
	token   Token
	offer   offer
	arrived time.Duration
	over    bool    // it was served, or its caller has timed out
	due     float64 // in a queue: the total work after which it is served
	random  float64 // in a pool: for the time that it takes
}

// queue is a backend that serves calls in order of arrival, including those that have timed out.
// Calls time out in the same order, so one index is enough for the next one.
type queue struct {
	cost    float64 // of a rejection
	maxWork float64 // in the queue
	rate    float64 // work per second
	done    float64 // total work on served calls
	due     float64 // the total work after which the last call is served
	debt    float64 // work on rejections, which is done before other work
	until   time.Duration

	calls               []waitingCall // in order of arrival
	first, firstWaiting int           // indices: of the next call to serve, and of the next to time out
}

// newQueue returns an empty queue for a backend with a healthy capacity.
func newQueue(cost, capacity float64) *queue {
	return &queue{cost: cost, maxWork: maxQueueSeconds * capacity, calls: make([]waitingCall, 0, minQueueSize)}
}

func (q *queue) setRate(at time.Duration, rate float64) {
	q.advance(at)
	q.rate = rate
}

// add adds a call. It returns false if the queue is full.
func (q *queue) add(c waitingCall) bool {
	q.advance(c.arrived)
	if q.due-q.done+q.debt+1 > q.maxWork {
		return false
	}
	q.compact()
	q.due++
	c.due = q.due
	q.calls = append(q.calls, c)
	return true
}

// reject does the work of a rejection, and returns how much it is. It delays all queued calls.
func (q *queue) reject(at time.Duration) float64 {
	q.advance(at)
	before := q.debt
	q.debt = min(q.debt+q.cost, max(q.debt, maxDebt*q.rate))
	return q.debt - before
}

func (q *queue) next(until time.Duration) (at time.Duration, c *waitingCall, served bool) {
	at, served = q.nextServed(), true
	if q.firstWaiting < len(q.calls) {
		if timeout := q.calls[q.firstWaiting].arrived + callerTimeout; timeout < at {
			at, served = timeout, false
		}
	}
	switch {
	case at > until:
		return at, nil, false
	case !served:
		q.firstWaiting++
		return at, &q.calls[q.firstWaiting-1], false
	}
	q.advance(at)
	c = &q.calls[q.first]
	q.done, q.debt = max(q.done, c.due), 0
	q.first++
	q.firstWaiting = max(q.firstWaiting, q.first)
	return at, c, true
}

// nextServed returns the time at which the first call is served, or never.
func (q *queue) nextServed() time.Duration {
	if q.first == len(q.calls) || q.rate == 0 {
		return never
	}
	wait := math.Ceil((q.calls[q.first].due - q.done + q.debt) / q.rate * float64(time.Second))
	if wait >= float64(never-q.until) {
		return never
	}
	return q.until + time.Duration(max(0, wait))
}

// advance does the work until a time.
func (q *queue) advance(at time.Duration) {
	effort := q.rate * (at - q.until).Seconds()
	q.until = at
	paid := min(effort, q.debt)
	q.debt -= paid
	q.done = min(q.done+effort-paid, q.due)
}

// compact frees the served calls, if they are more than half of all.
func (q *queue) compact() {
	if q.first < minQueueSize || q.first < len(q.calls)/2 {
		return
	}
	q.calls = slices.Delete(q.calls, 0, q.first)
	q.firstWaiting -= q.first
	q.first = 0
}

// Service is how long the calls of a backend of kind Pool take.
type Service struct {
	Workers  int           // calls that are served at the same time, in order of arrival; 0 for all
	Patience time.Duration // after which a caller times out; its call is served nevertheless; 0 for never
	// Time returns the time of a call, from a random number in [0, 1) and the number of open calls.
	Time func(o offer, random float64, open int) time.Duration
	// Pauses are how often and for how long nothing is served.
	Every, Pause time.Duration
}

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
		if q.busy--; len(q.queue) > 0 {
			waiting := q.queue[0]
			q.queue = q.queue[1:]
			q.start(at, waiting)
		}
	}
	return at, c, isServed
}
