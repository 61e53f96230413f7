package throttle

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/processor"
)

// Call is an admitted call: the two-phase form of [Throttle.Do], for transports. Its owner ends it
// with [Call.Done] or [Call.Finish]. The zero Call, which [Throttle.Admit] returns for a shed call,
// has methods that do nothing.
type Call struct {
	pooled     *pooledCall
	generation uint64
	ctx        context.Context
}

// pooledCall keeps an attempt between Admit and Done. It is reused: each use is a generation of
// several steps. A Call of an earlier generation has no effect.
type pooledCall struct {
	attempt attempt
	step    atomic.Uint64
	answer  error // given to Answered
	_       [32]byte
}

// The steps of one generation, relative to the step at which the Call was created. They only
// increase.
const (
	stepBegun          = iota // as Admit returned it
	stepResponding            // Responding runs, for a moment
	stepResponded             // the response has begun
	stepAnswering             // Answered runs
	stepAnswered              // the outcome is recorded, and the call is still in flight
	stepEnding                // the end came while Answered ran: Answered ends the call
	stepsPerGeneration        // the call has ended, and the next generation begins
)

// Admit decides about a call that the caller makes itself. If it admits the call, the caller must
// end it with [Call.Done] or [Call.Finish]. If it sheds the call, it returns an error for which
// errors.Is(err, [ErrShed]) is true. Priority, context and bad input are handled as in
// [Throttle.Do].
//
// A call that is never ended stays in flight in [Throttle.Stats]. It has no other effect, unless
// Config.Slow is set.
func (t *Throttle) Admit(ctx context.Context, p Priority) (Call, error) {
	return t.admit(ctx, p, nil)
}

// admit decides about a call. Local counts the calls that this process serves, or is nil.
func (t *Throttle) admit(ctx context.Context, p Priority, local *processor.Demand) (Call, error) {
	ctx, err := checkArgs(ctx, t, true)
	if err != nil {
		return Call{}, err
	}
	k := t.callPool.Get().(*pooledCall)
	if err := k.attempt.begin(ctx, t, p, local); err != nil {
		k.attempt = attempt{}
		t.callPool.Put(k)
		return Call{}, err
	}
	k.attempt.openLocal(local)
	if t.hasCallHooks {
		k.callStarted()
	}
	return Call{pooled: k, generation: k.step.Load(), ctx: k.attempt.ctx}, nil
}

// callStarted calls the Started hook. If the hook panics, the call ends: there will be no Call to
// end it.
func (k *pooledCall) callStarted() {
	announced := false
	defer func() {
		if !announced {
			k.attempt.endAbandoned()
		}
	}()
	k.attempt.callStarted()
	announced = true
}

// Context returns the context for the call: that of Admit, or the one that the Started hook
// returned.
func (c Call) Context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// Responding records that the response has begun to arrive. It is for calls whose outcome is known only at
// their end, such as a stream of results. The call is not late any more, see [Config.Slow]. It has no other
// effect. If the outcome is known, use [Call.Answered].
func (c Call) Responding() {
	if c.move(stepBegun, stepResponding) {
		defer c.move(stepResponding, stepResponded) // also if Config.Now panics
		c.pooled.attempt.respond()
	}
}

// Answered records the outcome of a call that continues, for example a request whose response has
// begun to arrive. It classifies and counts err, and ends the Duration. The call stays in flight
// until Done or Finish, which then only end it. So the next decisions use an outcome whose call may
// end much later, or never. Only the first Answered counts, and only before the end of the call.
func (c Call) Answered(err error) {
	if !c.move(stepBegun, stepAnswering) && !c.moveResponding(stepAnswering) {
		return
	}
	defer c.afterAnswered()
	c.pooled.answered().begun.Add(1)
	c.pooled.answer = c.pooled.attempt.recordReturn(err)
}

// afterAnswered leaves the call in flight. It ends the call if Done was called meanwhile or the
// classifier panicked.
func (c Call) afterAnswered() {
	k := c.pooled
	if k.attempt.stage == recorded && c.move(stepAnswering, stepAnswered) {
		return
	}
	if c.move(stepAnswering, stepsPerGeneration) || c.move(stepEnding, stepsPerGeneration) {
		k.end(nil)
	}
}

// Done ends the call with err. If [Call.Answered] was not called before, err is classified as in
// [Throttle.Do]. Only the first Done or Finish counts; later ones do nothing, also on a copy of the
// Call.
func (c Call) Done(err error) {
	if !c.move(stepBegun, stepsPerGeneration) && !c.moveResponding(stepsPerGeneration) {
		c.endAnswered(err)
		return
	}
	a := &c.pooled.attempt
	defer c.pooled.release()
	err = a.recordReturn(err)
	a.finish(err)
}

// Finish ends the call with outcome o: Accepted, Rejected, Overloaded or Ignored. Any other value counts
// as Ignored. If [Call.Answered] was called before, its outcome is kept. Only the first Done or Finish
// counts.
func (c Call) Finish(o Outcome) {
	if !c.move(stepBegun, stepsPerGeneration) && !c.moveResponding(stepsPerGeneration) {
		c.endAnswered(nil)
		return
	}
	a := &c.pooled.attempt
	defer c.pooled.release()
	if !o.isClassified() {
		o = Ignored
	}
	a.full = o == Overloaded
	a.record(o.counted(), FaultNone, a.throttle.elapsed())
	a.finish(nil)
}

// endAnswered ends a call that was answered. If Answered still runs, Answered ends it. A call that
// has ended is not changed.
func (c Call) endAnswered(err error) {
	for c.pooled != nil {
		switch c.pooled.step.Load() - c.generation {
		case stepAnswering:
			if c.move(stepAnswering, stepEnding) {
				return
			}
		case stepAnswered:
			if c.move(stepAnswered, stepsPerGeneration) {
				c.pooled.end(err)
				return
			}
		default:
			return
		}
	}
}

// moveResponding changes the step of a call whose response has begun. It waits for Responding.
func (c Call) moveResponding(to uint64) bool {
	for c.pooled != nil {
		switch c.pooled.step.Load() - c.generation {
		case stepResponding:
			runtime.Gosched()
		case stepResponded:
			if c.move(stepResponded, to) {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// move changes the step and reports whether the step was from.
func (c Call) move(from, to uint64) bool {
	return c.pooled != nil && c.pooled.step.CompareAndSwap(c.generation+from, c.generation+to)
}

// answered returns the counters of calls that are in flight after their outcome was recorded.
func (k *pooledCall) answered() *answeredCounts {
	a := &k.attempt
	return a.throttle.counters[a.stripe].answeredCalls(a.throttle.priorities, a.priority)
}

// end ends a call that was answered. A nil err means the error of Answered.
func (k *pooledCall) end(err error) {
	defer k.release()
	if err = unmark(err); err == nil {
		err = k.answer
	}
	k.answer = nil
	k.answered().ended.Add(1)
	if k.attempt.stage == recorded {
		k.attempt.finish(err)
	}
}

// release ends the attempt and returns it to the pool.
func (k *pooledCall) release() {
	k.attempt.endAbandoned()
	t := k.attempt.throttle
	k.attempt = attempt{}
	t.callPool.Put(k)
}
