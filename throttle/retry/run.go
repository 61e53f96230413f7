package retry

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Run is the attempts of one call: the form of [Retrier.Do] for transports, which make the attempts
// themselves.
//
//	run := r.Begin(ctx, p)
//	for {
//		call, err := run.Admit()
//		if err != nil {
//			return err // or the result of the attempt before, which the throttle did not shed
//		}
//		err = send(call.Context())
//		call.Done(err)
//		if !run.Again(retry.Result{Err: err}) {
//			return err
//		}
//	}
//
// A Run is for one goroutine.
type Run struct {
	retrier  *Retrier
	ctx      context.Context // of the call
	current  context.Context // of the attempt
	err      error           // of the attempt before
	delay    time.Duration   // before the attempt
	number   int             // of the attempt
	sent     int             // attempts
	priority throttle.Priority
}

// Result is how an attempt ended.
type Result struct {
	// Err is the error of the attempt, from which the throttle classifies its outcome. The outcome
	// decides whether the call is retried.
	Err error
	// Delay is the shortest delay before a retry, beside that of [DelayOf].
	Delay time.Duration
	// Stop means that the backend asked for no retry.
	Stop bool
	// Once means that the call must not be made twice.
	Once bool
}

// Begin begins a call. The priority is p unless ctx carries one. Each Run must end: by an attempt
// that Admit does not admit, by an Again that returns false, or by Abandon. A nil ctx is
// context.Background(). If the Retrier is nil or zero, Admit returns an error.
func (r *Retrier) Begin(ctx context.Context, p throttle.Priority) Run {
	if ctx == nil {
		ctx = context.Background()
	}
	return Run{retrier: r, ctx: ctx, current: ctx, number: 1, priority: p}
}

// Attempt returns the number of the present attempt.
func (u *Run) Attempt() int { return u.number }

// Context returns the context of the present attempt: that of its throttle.Call, or without a
// throttle one that carries the number and the priority of a retry.
func (u *Run) Context() context.Context { return u.current }

// Priority returns the priority of the present attempt.
func (u *Run) Priority() throttle.Priority {
	return throttle.PriorityFromContext(u.current, u.priority)
}

// Admit passes the throttle. If the throttle sheds the attempt, or the context has ended, it returns
// the error of [throttle.Throttle.Admit], and the Run has ended. The owner of the Run must end the
// returned Call. Without a throttle the Call does nothing.
func (u *Run) Admit() (throttle.Call, error) {
	var call throttle.Call
	if !u.retrier.valid() {
		return call, errNil
	}
	if t := u.retrier.config.Throttle; t != nil {
		var err error
		if call, err = t.Admit(u.current, u.priority); err != nil {
			u.refused(err)
			return call, err
		}
		u.current = call.Context()
	}
	u.begun(call)
	return call, nil
}

// begun counts an attempt whose throttle admitted it, and calls the Retried hook. If the hook does not return, the
// call ends: its owner does not get it.
func (u *Run) begun(call throttle.Call) {
	u.sent++
	r := u.retrier
	if u.number == 1 {
		return
	}
	r.counters.sent.Add(1)
	if h := r.config.Hooks.Retried; h != nil && !r.closed.Load() {
		returned := false
		defer func() {
			if !returned {
				call.Done(throttle.ErrPanicked)
			}
		}()
		h(u.current, SentEvent{Retrier: r, Attempt: u.number, Delay: u.delay, Err: u.err})
		returned = true
	}
}

func (u *Run) refused(err error) {
	switch {
	case u.number > 1 && u.ctx.Err() != nil:
		u.deny(reasonOf(u.ctx))
	case u.number > 1:
		u.deny(ReasonShed)
	case errors.Is(err, throttle.ErrShed):
		u.err = err
		u.deny(ReasonShed)
	}
}

// Again records the end of an attempt. If the call is to be retried, it waits for the delay, and
// returns true: make the next attempt. Otherwise the Run has ended, and the result is that of the
// call.
func (u *Run) Again(res Result) bool {
	delay, ok := u.Decide(res)
	switch {
	case ok && !wait(u.ctx, delay):
		u.deny(reasonOf(u.ctx))
		return false
	case ok && u.retrier.isOff(): // since the delay began
		u.deny(ReasonOff)
		return false
	}
	return ok
}

// Decide is [Run.Again] for owners that wait themselves: it returns the delay to wait for.
func (u *Run) Decide(res Result) (delay time.Duration, again bool) {
	r := u.retrier
	u.err = res.Err
	outcome := r.config.Throttle.Classify(u.current, res.Err)
	if !r.isWanted(u.current, outcome, res.Err) {
		if outcome == throttle.Accepted && u.number == 1 {
			r.counters.accept()
		} else {
			r.counters.ended[u.sent].Add(1)
		}
		return 0, false
	}
	delay, reason, ok := u.judge(res)
	u.number++
	if !ok {
		u.deny(reason)
		return 0, false
	}
	u.advance(delay)
	return delay, true
}

// isWanted reports whether a call that ended with err should be retried, if it may be. A call that was
// shed inside is wanted, so that its denial is counted.
func (r *Retrier) isWanted(ctx context.Context, o throttle.Outcome, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, throttle.ErrShed):
		return true
	case errors.Is(err, throttle.ErrPanicked) || errors.Is(ctx.Err(), context.Canceled):
		return false
	}
	if r.config.Retryable != nil {
		if retry, ok := r.config.Retryable(ctx, err); ok {
			return retry
		}
	}
	return o == throttle.Rejected
}

// judge decides about a retry that is wanted. It returns the delay, or the reason of a denial. It
// takes the retry from the budget last, so that no other reason uses up the budget.
func (u *Run) judge(res Result) (delay time.Duration, reason Reason, ok bool) {
	r := u.retrier
	c, t := &r.config, r.tuning.Load()
	asked := max(res.Delay, DelayOf(res.Err))
	delay = c.Delay.before(u.number, asked, c.Rand())
	switch {
	case errors.Is(res.Err, throttle.ErrShed):
		return 0, ReasonShed, false
	case t.Mode == throttle.ModeOff:
		return 0, ReasonOff, false
	case u.number >= t.Attempts:
		return 0, ReasonAttempts, false
	case res.Once || mustBeOnce(u.ctx):
		return 0, ReasonOnce, false
	case res.Stop || asked > c.Delay.Longest:
		return 0, ReasonPushback, false
	case u.ctx.Err() != nil || !c.Delay.fits(u.ctx, delay):
		return 0, ReasonDeadline, false
	case !r.ledger.take(r.elapsed(), r.counters.accepted(), t):
		return 0, ReasonBudget, false
	}
	return delay, 0, true
}

// advance begins the next attempt, whose context leads to the one before.
func (u *Run) advance(delay time.Duration) {
	u.delay = delay
	p := u.retrier.after(throttle.PriorityFromContext(u.ctx, u.priority))
	a := Attempt{Number: u.number, Previous: u.current, Throttle: u.retrier.config.Throttle}
	u.current = throttle.WithPriority(WithAttempt(u.ctx, a), p)
}

// Abandon ends a Run after [Run.Again] or [Run.Decide] returned true, if the owner cannot make the
// attempt.
func (u *Run) Abandon(reason Reason) { u.deny(reason) }

func (u *Run) deny(reason Reason) {
	r := u.retrier
	r.counters.ended[u.sent].Add(1)
	r.counters.denied[reason].Add(1)
	if h := r.config.Hooks.Denied; h != nil && !r.closed.Load() {
		h(u.ctx, DenyEvent{Retrier: r, Attempt: u.number, Reason: reason, Err: u.err})
	}
}

func reasonOf(ctx context.Context) Reason {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ReasonDeadline
	}
	return ReasonCanceled
}
