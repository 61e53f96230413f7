package throttle

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/processor"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// stage is the progress of an attempt.
type stage uint8

const (
	notMade stage = iota // not counted: the context had ended, or the input was bad
	wasShed
	running
	recorded   // the outcome is counted; neither the function nor a fallback runs
	inFallback // a fallback runs
	ended
)

// attempt is one call from its decision to its end. Do keeps it on the stack, Admit in a pool.
type attempt struct {
	throttle *Throttle
	ctx      context.Context
	row      *window.Row
	watch    *watch            // of the open calls; nil if the call is not one of them
	local    *processor.Demand // of a call that this process serves, or nil
	decision decision.Packed   // that applied to the call; 0 if nothing had to be decided
	began    time.Duration
	duration time.Duration
	priority Priority
	open     processor.Call
	stripe   uint8
	outcome  Outcome
	fault    Fault
	stage    stage
	observed bool // hooks are called for this call
	timed    bool // began is set
	shadow   bool // Enforce would have shed it
	fellBack bool
	booked   bool // counts as rejected already
	full     bool // Rejected, and the backend is full: see MarkOverloaded
	tenant   bool // ctx has one
}

// begin decides about a call. Local counts the calls that this process serves; it is nil for a call to
// another process. If begin returns an error, the function must not run: stage is wasShed if the
// throttle shed the call, else notMade.
func (a *attempt) begin(ctx context.Context, t *Throttle, p Priority, local *processor.Demand) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c := contextOf(ctx); c != nil {
		p, a.tenant = c.priorityOr(p), c.tenant != ""
	}
	stripe := t.window.Pick()
	if uint(p) >= uint(t.priorities) {
		var err error
		if p, err = t.validPriority(p, stripe); err != nil {
			return err
		}
	}
	a.throttle, a.ctx, a.priority, a.stripe = t, ctx, p, uint8(stripe)
	a.row = t.window.Row(stripe, int(p))
	if local != nil && !local.Calm() {
		if err := a.enterProcess(local); err != nil {
			return err
		}
	}
	if t.decisions.NeedsDecision() && !a.shadow {
		if err := a.maybeShed(); err != nil {
			return err
		}
	}
	if w := t.watch.Load(); w != nil && !a.shadow {
		if err := a.enter(w); err != nil {
			return err
		}
	}
	a.stage = running
	a.row[started].Add(1)
	if t.canceledAfter.Load() > 0 && a.watch == nil { // the watch has its own time
		a.began, a.timed = t.elapsed(), true
	}
	return nil
}

// validPriority applies Config.InvalidPriority to a priority that is out of range, and counts the
// call as clamped.
func (t *Throttle) validPriority(p Priority, stripe int) (Priority, error) {
	q, err := t.invalidPriority(p, t.priorities)
	if err != nil {
		return q, err
	}
	q, _ = ClampPriority(q, t.priorities)
	t.counters[stripe].count(clamps, t.priorities, q, Accepted, FaultNone)
	return q, nil
}

// maybeShed decides about a call that may be shed. It returns the error of a shed call.
func (a *attempt) maybeShed() error {
	t, now := a.throttle, a.throttle.elapsed()
	t.fadeReceived(now)
	var draw uint64
	a.decision, draw = t.decisions.Draw(int(a.priority), int(a.stripe), now)
	t.reportPolicy(a.ctx)
	sheds := a.decision.Sheds(draw)
	if a.asksTenant(sheds) {
		a.decision = a.ofTenant(a.decision, int(a.priority), now, draw)
		sheds = a.decision.Sheds(draw)
	}
	if !sheds {
		return nil
	}
	if a.decision.Has(onlyShadow | causedTold | causedAbove) {
		return a.shedSpecially(causeOf(a.decision))
	}
	a.row[shedOwn].Add(1)
	t.decisions.NoteRefused()
	return a.shed(CauseOwn)
}

// shedSpecially counts and sheds a call that the window does not count as shed for its own priority.
func (a *attempt) shedSpecially(cause Cause) error {
	a.shadow = a.decision.Has(onlyShadow)
	switch {
	case cause == CauseTold:
		a.countTold()
		return a.shed(cause)
	case a.shadow:
		a.row[shadowed].Add(1)
	default:
		a.row[shedAbove].Add(1)
	}
	a.throttle.decisions.NoteRefused()
	return a.shed(cause)
}

// shed ends a call that is shed, and returns its error. In ModeShadow the call goes on.
func (a *attempt) shed(cause Cause) error {
	t := a.throttle
	if a.decision.Has(aboveShare) && !a.shadow {
		t.counters[a.stripe].count(tenantSheds, t.priorities, a.priority, Accepted, FaultNone)
	}
	if t.hasCallHooks && !t.closed.Load() {
		a.callShedHook()
	}
	if a.shadow {
		return nil
	}
	a.stage, a.outcome = wasShed, Shed
	if a.decision.Has(aboveShare) {
		return t.tenantErrs[cause][a.priority]
	}
	return t.shedErrs[cause][a.priority]
}

func (a *attempt) callShedHook() {
	a.observed = true
	if h := a.throttle.hooks.Shed; h != nil {
		h(a.ctx, ShedEvent{
			Throttle: a.throttle, Priority: a.priority, Probability: a.decision.Probability(),
			Cause: causeOf(a.decision), Shadow: a.shadow, Tenant: a.decision.Has(aboveShare),
		})
	}
}

// callStarted calls the Started hook. If the hook panics, the caller must call endAbandoned.
func (a *attempt) callStarted() {
	t := a.throttle
	if a.observed = !t.closed.Load(); !a.observed {
		return
	}
	if h := t.hooks.Started; h != nil {
		ctx := h(a.ctx, StartEvent{Throttle: t, Priority: a.priority, Probability: a.decision.Probability(), Shadow: a.shadow})
		if ctx != nil {
			a.ctx = ctx
		}
	}
	if t.hooks.Finished != nil && a.watch == nil {
		a.began, a.timed = t.elapsed(), true
	}
}

// recordReturn records the outcome of the function and returns its error without the mark of
// MarkRejected or MarkOverloaded.
func (a *attempt) recordReturn(err error) error {
	now := a.throttle.elapsed()
	if err == nil {
		a.record(Accepted, FaultNone, now)
		return nil
	}
	outcome, fault := a.classify(err, now)
	if outcome == Rejected && a.waitedForProcessor(fault) {
		outcome = Ignored
	}
	a.record(outcome, fault, now)
	return unmark(err)
}

// classify returns the outcome and the fault of a call that ended at now with err, which is not nil.
func (a *attempt) classify(err error, now time.Duration) (Outcome, Fault) {
	t, f := a.throttle, examine(err)
	if !f.marked {
		if o, ok := t.classifier.opinion(a.ctx, err); ok {
			a.full = o == Overloaded || f.full
			return o.counted(), f.fault()
		}
	}
	o, fault := f.outcome(), f.fault()
	a.full = f.full
	if o == Ignored && fault == FaultCanceled && !f.has(FaultShed) && a.canceledLate(now) {
		o = Rejected
	}
	return o, fault
}

// canceledLate reports whether the caller cancelled the call, after Config.CanceledAfter or later.
func (a *attempt) canceledLate(now time.Duration) bool {
	limit := time.Duration(a.throttle.canceledAfter.Load())
	return limit > 0 && a.timed && now-a.began >= limit && a.ctx.Err() != nil
}

// record counts the outcome of a function that returned at now.
func (a *attempt) record(o Outcome, f Fault, now time.Duration) {
	t := a.throttle
	a.stage, a.outcome, a.fault = recorded, o, f
	if a.open != 0 {
		a.local.End(int(a.stripe), a.open)
	}
	if a.timed {
		a.duration = max(0, now-a.began)
		if a.watch != nil { // then the call is timed
			a.leave(now, a.duration, o == Accepted)
		}
	}
	due := t.decisions.Due(now)
	if due {
		t.decisions.Roll(now)
	}
	rolls := due || a.watch != nil
	switch {
	case a.shadow:
		t.counters[a.stripe].count(shadows+table(causeOf(a.decision)), t.priorities, a.priority, o, f)
	case f == FaultNone && o == Accepted:
		a.row[served].Add(1)
	default:
		a.recordFailure(o, f)
		if o == Rejected && !a.booked {
			t.decisions.NoteRejected(int(a.stripe))
			rolls = true
		}
	}
	if rolls {
		t.reportPolicy(a.ctx)
	}
}

// recordFailure counts an admitted call that did not end with Accepted and a nil error. A call that was
// booked when it was late is not counted as rejected again.
func (a *attempt) recordFailure(o Outcome, f Fault) {
	switch {
	case o == Accepted:
		a.row[failed].Add(1)
	case o == Rejected && !a.booked && a.full:
		a.row[saidFull].Add(1)
	case o == Rejected && !a.booked:
		a.row[turnedDown].Add(1)
	}
	a.throttle.counters[a.stripe].count(failures, a.throttle.priorities, a.priority, o, f)
}

// beginFallback starts a fallback. Local reports whether the call was shed. Ok is false for a call
// that was not made: it has no fallback.
func (a *attempt) beginFallback() (local, ok bool) {
	local = a.stage == wasShed
	ok = local || a.stage == recorded
	if ok {
		a.stage = inFallback
	}
	return local, ok
}

// endFallback records the end of the fallback and returns its error without the mark of
// MarkRejected or MarkOverloaded.
func (a *attempt) endFallback(err error) error {
	t := a.throttle
	a.stage, a.fellBack = recorded, true
	t.counters[a.stripe].count(fallbacks, t.priorities, a.priority, a.outcome, FaultOf(err))
	err = unmark(err)
	if h := t.hooks.FellBack; h != nil && a.observed {
		h(a.ctx, FallbackEvent{Throttle: t, Priority: a.priority, Outcome: a.outcome, Err: err})
	}
	return err
}
