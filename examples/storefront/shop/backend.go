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

// backend serves calls as long as it has work left, and rejects the others. It treats all
// priorities alike.
type backend struct {
	mu     sync.Mutex
	work   work
	served uint64
	taken  uint64 // served or rejected
}

func newBackend(capacity float64) *backend {
	return &backend{work: newWork(capacity, time.Now())}
}

// call makes a call to the backend. It returns nil if the backend has served it.
func (b *backend) call(ctx context.Context) error {
	served, strain := b.take()
	if !served && rand.Float64() < unanswered {
		<-ctx.Done() // ctx has a deadline
		return ctx.Err()
	}
	if !served {
		return faults.Unavailable(0) // the throttle counts this error as a rejection
	}
	timer := time.NewTimer(minLatency + time.Duration((strain+rand.Float64()/4)*float64(maxSlowdown)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take decides whether a call is served, without its latency. Calls to the backend without a
// throttle only need the decision.
func (b *backend) take() (served bool, strain float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken++
	served = b.work.take(time.Now())
	if served {
		b.served++
	}
	return served, b.work.strain()
}

// change sets the capacity.
func (b *backend) change(capacity float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.work.change(capacity, time.Now())
}

// totals returns the number of calls, and of served ones.
func (b *backend) totals() (taken, served uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken, b.served
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
