package retry

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Hedge is [Do] for a function that may run twice at the same time. If fn has not returned after a
// delay, Hedge calls it a second time beside the first one, and returns the result that comes first.
// A good delay is the duration that 95 % of the calls do not exceed while the backend is well.
//
// The second attempt, the hedge, is made only if the budget has a retry left and the throttle sheds
// nothing, and not with [WithoutRetries]. It passes the throttle one priority lower. The context of
// the slower attempt is cancelled, and its outcome is [throttle.Ignored] if fn returns because of
// that. If one of the two is rejected, Hedge waits for the other. If both are, the call is retried
// as by Do, and both count for Config.Attempts.
//
// Hedge returns after both attempts have returned: fn must return soon after its context ends. The
// context ends when Hedge returns, so fn must read all of its result before. If fn panics in the
// hedge, the panic continues in the goroutine of the caller.
//
// Hedge returns an error if after is not more than 0, and in the same cases as [Retrier.Do].
func Hedge[T any](
	ctx context.Context, r *Retrier, p throttle.Priority, after time.Duration, fn func(context.Context) (T, error),
) (value T, err error) {
	switch {
	case fn == nil:
		return value, errNoFunction
	case !r.valid():
		return value, errNil
	case after <= 0:
		return value, fmt.Errorf("retry: after is %v: want more than 0", after)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	var values [2]T
	h := &pair{retrier: r, priority: p, after: after, over: make(chan struct{})}
	h.fn = func(ctx context.Context, slot int) (err error) {
		values[slot], err = fn(ctx)
		return err
	}
	slot, err := h.do(ctx)
	return values[slot], err
}

// pair is the first attempt of a call, and its hedge: a second attempt that begins beside it if the
// first one takes long. The goroutine of the caller makes the first attempt. The pair needs the
// second goroutine only once the delay has passed, and waits for it.
type pair struct {
	retrier  *Retrier
	priority throttle.Priority
	after    time.Duration
	fn       slotted
	cancel   [2]context.CancelFunc // ends the first attempt, ends the hedge
	winner   atomic.Int32          // 1 + the slot of the attempt that settled the call; 0 if none has
	first    result
	timer    *time.Timer // begins the hedge; nil before the first attempt is sent, and once the hedge is over

	// The goroutine of the hedge writes these before it closes over.
	hedge    result
	err      error // for the caller
	panicked any
	over     chan struct{}
}

// slotted is a function that keeps the results of concurrent attempts apart: 0 is the slot of the
// first attempt and of retries, 1 that of the hedge.
type slotted = func(ctx context.Context, slot int) error

func (h *pair) do(ctx context.Context) (slot int, err error) {
	defer h.end()
	h.first.ctx, h.cancel[0] = context.WithCancel(ctx)
	h.hedge.ctx, h.cancel[1] = context.WithCancel(ctx)
	slot, err = h.both()
	ended, sent := h.first, 1
	switch {
	case slot == 1:
		ended, sent = h.hedge, 2
	case h.hedge.made:
		sent = 2
		if h.winner.Load() == 0 && DelayOf(h.hedge.err) > DelayOf(h.first.err) {
			ended.err = h.hedge.err // the retry waits as long as both have asked for
		}
	case err == nil:
		h.retrier.counters.accept()
		return slot, nil
	}
	err = h.retrier.rest(ctx, h.priority, func(ctx context.Context) error {
		slot = 0
		return h.fn(ctx, 0)
	}, ended, sent, err)
	return slot, err
}

// both makes the two attempts. It returns the slot and the error of the one that settled the call, or
// of the first attempt if none did.
func (h *pair) both() (slot int, err error) {
	err = h.retrier.try(h.priority, func(ctx context.Context) error {
		h.timer = time.AfterFunc(h.after, h.runHedge)
		return h.fn(ctx, 0)
	}, &h.first)
	h.settle(0, &h.first)
	h.wait()
	if h.panicked != nil {
		panic(h.panicked)
	}
	if h.winner.Load() == 2 {
		return 1, h.err
	}
	return 0, err
}

// runHedge makes the hedge, if it may be made. A panic continues in the goroutine of the caller.
func (h *pair) runHedge() {
	defer close(h.over)
	defer func() { h.panicked = recover() }()
	r := h.retrier
	ctx := h.hedge.ctx
	if !r.mayHedge(ctx) {
		return
	}
	p := throttle.PriorityFromContext(ctx, h.priority)
	a := Attempt{Number: 2, Previous: h.first.ctx, Throttle: r.config.Throttle}
	h.hedge.ctx = throttle.WithPriority(WithAttempt(ctx, a), r.after(p))
	h.err = r.try(h.priority, func(ctx context.Context) error {
		h.begun(ctx)
		return h.fn(ctx, 1)
	}, &h.hedge)
	h.settle(1, &h.hedge)
}

// mayHedge reports whether a call may be hedged now, and takes the hedge from the budget. While the
// throttle sheds anything, it may not: a hedge adds load to a backend that may be slow because of load.
func (r *Retrier) mayHedge(ctx context.Context) bool {
	u := r.tuning.Load()
	switch {
	case u.Mode == throttle.ModeOff || u.Attempts < 2 || mustBeOnce(ctx):
		return false
	case ctx.Err() != nil || !r.config.Delay.fits(ctx, 0):
		return false
	}
	return r.config.Throttle.RejectionProbability(r.lowest) == 0 && r.ledger.take(r.elapsed(), r.counters.accepted(), u)
}

func (h *pair) begun(ctx context.Context) {
	r := h.retrier
	r.counters.hedged.Add(1)
	if retried := r.config.Hooks.Retried; retried != nil && !r.closed.Load() {
		retried(ctx, SentEvent{Retrier: r, Attempt: 2, Delay: h.after, Hedge: true})
	}
}

// settle cancels the other attempt if this one has ended with a result for the caller: one for which
// there would be no retry. Otherwise the other one may still have it.
func (h *pair) settle(slot int, a *result) {
	r := h.retrier
	if !a.made || r.isWanted(a.ctx, r.config.Throttle.Classify(a.ctx, a.err), a.err) {
		return
	}
	if h.winner.CompareAndSwap(0, int32(slot+1)) {
		h.cancel[1-slot]()
	}
}

func (h *pair) wait() {
	if h.timer != nil && !h.timer.Stop() {
		<-h.over
	}
	h.timer = nil
}

func (h *pair) end() {
	h.cancel[0]()
	h.cancel[1]()
	h.wait()
}
