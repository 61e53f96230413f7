package shop

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/deixis/faults"
)

const (
	// minLatency is the latency of the idle backend.
	minLatency = 3 * time.Millisecond
	// maxSlowdown is the additional latency of the overloaded backend.
	maxSlowdown = 25 * time.Millisecond
	// unanswered is the share of the rejected calls that get no answer, so that they time out.
	unanswered = 0.1
	// rejectionCost is the work of a rejection, as a share of the work of a served call.
	rejectionCost = 0.2
	// reserve is how much unused work a backend can save up, in seconds of its capacity.
	reserve = 0.35
)

// backend serves calls as long as it has work left, and rejects the others. While it is slow, it has a
// queue and rejects none. It treats all priorities alike.
type backend struct {
	mu     sync.Mutex
	work   work
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
	return &backend{work: newWork(s.Available(), time.Now()), slow: s.Backend == Slow}
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
		return answer{after: b.queue.enter(now, b.work.rate)}
	case b.work.take(now):
		return answer{after: minLatency + time.Duration((b.work.strain()+rand.Float64()/4)*float64(maxSlowdown))}
	case rand.Float64() < unanswered:
		return answer{after: never}
	}
	return answer{rejected: true}
}

// change sets the capacity, and whether the backend is slow.
func (b *backend) change(s Settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.work.change(s.Available(), time.Now())
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

// since returns the mean of the waits since earlier ones.
func (w waits) since(before waits) Milliseconds {
	calls, waited := w.calls-before.calls, w.waited-before.waited
	return Milliseconds(waited.Seconds() * 1000 / float64(calls)) // NaN without calls
}

// work is what a backend can do at the moment, in served calls. It grows with time, and each call
// uses some of it, whether it is served or rejected. It can be as far below zero as it can be saved
// up. Below zero the backend is busy with rejections and serves no call.
type work struct {
	rate float64 // per second
	left float64
	at   time.Time // of the last refill
}

// newWork returns the work of an idle backend.
func newWork(rate float64, now time.Time) work {
	return work{rate: rate, left: rate * reserve, at: now}
}

// take uses the work for one call. It returns false if there is only enough to reject it.
func (w *work) take(now time.Time) (served bool) {
	w.refill(now)
	if w.left >= 1 {
		w.left--
		return true
	}
	w.left = max(w.left-rejectionCost, -w.limit())
	return false
}

// change sets the rate from now on.
func (w *work) change(rate float64, now time.Time) {
	w.refill(now)
	w.rate = rate
	w.left = min(max(w.left, -w.limit()), w.limit())
}

// strain returns how overloaded the backend is, from 0 for an idle backend to 1.
func (w *work) strain() float64 {
	if w.rate == 0 {
		return 1
	}
	return (w.limit() - w.left) / (2 * w.limit())
}

func (w *work) refill(now time.Time) {
	if passed := now.Sub(w.at).Seconds(); passed > 0 {
		w.left = min(w.left+passed*w.rate, w.limit())
		w.at = now
	}
}

// limit is the work that can be saved up.
func (w *work) limit() float64 { return w.rate * reserve }
