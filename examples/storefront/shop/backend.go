package shop

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	// minLatency and maxLatency are the bounds of the latency of a call.
	minLatency = 3 * time.Millisecond
	maxLatency = 10 * time.Millisecond
	// unanswered is the share of the rejected calls that get no answer, so that they time out.
	unanswered = 0.1
	// rejectionCost is the work of a rejection, as a share of the work of a served call.
	rejectionCost = 0.2
)

// backend serves calls as long as it has work left, and rejects the others. While it is slow, it has a
// queue and rejects none. It treats all priorities alike.
type backend struct {
	work *throttletest.Backend // decides at once which calls are served

	mu     sync.Mutex
	rate   float64 // calls per second that it can serve
	slow   bool
	queue  queue
	totals backendTotals
}

// backendTotals are counts of the calls of a backend.
type backendTotals struct {
	taken  uint64 // all calls
	served uint64 // in time
	waits
}

func newBackend(s Settings) *backend {
	b := &backend{work: throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{Capacity: s.Capacity, RejectionCost: rejectionCost}))}
	b.change(s)
	return b
}

// call makes a call to the backend. It returns nil if the backend has served it.
func (b *backend) call(ctx context.Context) error {
	a := b.take()
	if a.rejected {
		return faults.Unavailable(0) // the throttle counts this error as a rejection
	}
	timer := time.NewTimer(a.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done(): // ctx has a deadline
		return ctx.Err()
	}
}

// answer is what a call gets. It is served if its caller waits so long.
type answer struct {
	rejected bool
	after    time.Duration
}

// take decides about a call. Calls to the backend without a throttle only need the decision.
func (b *backend) take() answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.answer(time.Now())
	b.totals.taken++
	if !a.rejected {
		b.totals.add(min(a.after, callTimeout))
	}
	if !a.rejected && a.after < callTimeout {
		b.totals.served++
	}
	return a
}

func (b *backend) answer(now time.Time) answer {
	switch {
	case b.slow:
		return answer{after: b.queue.enter(now, b.rate)}
	case b.work.Call(context.Background()) == nil:
		return answer{after: minLatency + rand.N(maxLatency-minLatency)}
	case rand.Float64() < unanswered:
		return answer{after: never}
	}
	return answer{rejected: true}
}

// change sets the capacity, and whether the backend is slow.
func (b *backend) change(s Settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = s.Available()
	b.work.SetOutage(b.rate == 0)
	if b.rate > 0 {
		_ = b.work.SetCapacity(b.rate) // the error is about settings that are out of range
	}
	if b.slow = s.Backend == Slow; !b.slow {
		b.queue = queue{}
	}
}

func (b *backend) counts() backendTotals {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.totals
}

// waits adds up how long callers have waited for an answer or for their timeout. Rejections are not
// counted: they come at once.
type waits struct {
	calls  uint64
	waited time.Duration
}

func (w *waits) add(d time.Duration) {
	w.calls++
	w.waited += d
}

// since returns the mean of the waits since earlier ones, in milliseconds.
func (w waits) since(before waits) Figure {
	calls, waited := w.calls-before.calls, w.waited-before.waited
	return Figure(waited.Seconds() * 1000 / float64(calls)) // NaN without calls
}

const (
	// slowdown is how many times as long a call takes while the backend is slow.
	slowdown = 10
	// longestQueue is the longest wait in the queue. Later calls are lost: they get no answer.
	longestQueue = 2 * callTimeout
	// never is longer than any caller waits.
	never = time.Hour
)

// queue is the queue of a slow backend. The backend serves one call after the other, and does not
// notice that callers give up. So if the queue is longer than callers wait, all its work is wasted.
type queue struct {
	free time.Time // when the backend has served all calls in the queue
}

// enter adds a call, and returns how long it takes. The backend serves rate calls per second.
func (q *queue) enter(now time.Time, rate float64) time.Duration {
	begin := now
	if q.free.After(now) {
		begin = q.free
	}
	if begin.Sub(now) > longestQueue {
		return never
	}
	q.free = begin.Add(time.Duration(float64(time.Second) / rate))
	return q.free.Sub(now) + slowdown*minLatency
}
