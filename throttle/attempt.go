package throttle

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// stage is how far an attempt has come.
type stage uint8

const (
	unmade  stage = iota // not counted: the context was over, or the input was bad
	refused              // shed
	running
	settled // the function has returned, and its outcome is in the books
	falling // a fallback runs
	over
)

// attempt is one call on its way through a throttle. Do keeps it on the stack, Admit in a pool.
type attempt struct {
	throttle *Throttle
	ctx      context.Context
	row      *window.Row
	gate     uint64 // at which the decision was taken
	began    time.Duration
	duration time.Duration
	stripe   int32
	priority Priority
	outcome  Outcome
	fault    Fault
	stage    stage
	told     bool // the hooks have been, and will be, told of this call
	timed    bool // began is known
	shadow   bool // Enforce would have shed it
	fellBack bool
}

// begin decides about a call. It returns the error with which the call ends here and now: the stage says whether it was
// refused or not made at all.
func (a *attempt) begin(ctx context.Context, t *Throttle, p Priority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p = PriorityFromContext(ctx, p)
	stripe := t.window.Pick()
	if uint(p) >= uint(t.priorities) {
		var err error
		if p, err = t.admissible(p, stripe); err != nil {
			return err
		}
	}
	a.throttle, a.ctx, a.priority, a.stripe = t, ctx, p, int32(stripe)
	a.row = t.window.Row(stripe, int(p))
	a.gate = t.gates.words[p].Load()
	if a.gate&watched != 0 {
		if err := a.pass(); err != nil {
			return err
		}
	}
	a.stage = running
	a.row[started].Add(1)
	return nil
}

// admissible brings a priority into range, or refuses it.
func (t *Throttle) admissible(p Priority, stripe int) (Priority, error) {
	q, err := t.invalidPriority(p, t.priorities)
	if err != nil {
		return q, err
	}
	q, _ = ClampPriority(q, t.priorities)
	t.window.Row(stripe, int(q))[clamped].Add(1)
	return q, nil
}

// pass takes the attempt through a watched gate, or returns the error of a shed call.
func (a *attempt) pass() error {
	t := a.throttle
	now := t.elapsed()
	var refuse bool
	if a.gate, refuse = t.weigh(a, now); !refuse {
		return nil
	}
	a.shadow = a.gate&onlyShadow != 0
	switch {
	case a.shadow:
		a.row[shadowed].Add(1)
	case causeOf(a.gate) == CauseAbove:
		a.row[shedAbove].Add(1)
	default:
		a.row[shedOwn].Add(1)
	}
	t.noteRefusal(a.priority)
	t.noteNews()
	if t.listens && !t.closed.Load() {
		a.tellShed()
	}
	if a.shadow {
		return nil
	}
	a.stage, a.outcome = refused, Shed
	return t.shedErrs[a.priority]
}

func (a *attempt) tellShed() {
	a.told = true
	if h := a.throttle.hooks.Shed; h != nil {
		h(a.ctx, ShedEvent{
			Throttle: a.throttle, Priority: a.priority, Probability: oddsOf(a.gate),
			Cause: causeOf(a.gate), Shadow: a.shadow,
		})
	}
}

// announce tells the hooks that the call starts. If they panic, whoever called it must abandon the attempt.
func (a *attempt) announce() {
	t := a.throttle
	if a.told = !t.closed.Load(); !a.told {
		return
	}
	if h := t.hooks.Started; h != nil {
		ctx := h(a.ctx, StartEvent{Throttle: t, Priority: a.priority, Probability: oddsOf(a.gate), Shadow: a.shadow})
		if ctx != nil {
			a.ctx = ctx
		}
	}
	if t.hooks.Finished != nil {
		a.began, a.timed = t.elapsed(), true
	}
}

// settle books the end of the function, and returns its error unmarked.
func (a *attempt) settle(err error) error {
	now := a.throttle.elapsed()
	if err == nil {
		a.book(Accepted, FaultNone, now)
		return nil
	}
	outcome, fault := a.throttle.classify(a.ctx, err)
	a.book(outcome, fault, now)
	return unmark(err)
}

// book counts the outcome of a function that returned at now.
func (a *attempt) book(o Outcome, f Fault, now time.Duration) {
	t := a.throttle
	a.stage, a.outcome, a.fault = settled, o, f
	if a.timed {
		a.duration = max(0, now-a.began)
	}
	t.keepUp(now)
	if a.shadow {
		t.ledgers[a.stripe].count(shadowPage(causeOf(a.gate)), t.priorities, a.priority, o, f)
		return
	}
	if f == FaultNone && o == Accepted {
		a.row[served].Add(1)
	} else {
		a.bookFailure(o, f)
	}
	if o == Rejected {
		t.noteRefusal(a.priority)
	}
	if t.gates.words[a.priority].Load()&watched != 0 {
		t.noteNews()
	}
}

// bookFailure counts an admitted call that did not end well.
func (a *attempt) bookFailure(o Outcome, f Fault) {
	switch o {
	case Accepted:
		a.row[failed].Add(1)
	case Rejected:
		a.row[turnedDown].Add(1)
	}
	a.throttle.ledgers[a.stripe].count(failures, a.throttle.priorities, a.priority, o, f)
}

func shadowPage(c Cause) page {
	if c == CauseAbove {
		return shadowsAbove
	}
	return shadowsOwn
}

// fall begins a fallback, and reports whether it is for a shed call. A call that was not made has none.
func (a *attempt) fall() (local, ok bool) {
	local = a.stage == refused
	ok = local || a.stage == settled
	if ok {
		a.stage = falling
	}
	return local, ok
}

// land books the end of the fallback, and returns its error unmarked.
func (a *attempt) land(err error) error {
	t := a.throttle
	a.stage, a.fellBack = settled, true
	t.ledgers[a.stripe].count(fallbacks, t.priorities, a.priority, a.outcome, FaultOf(err))
	err = unmark(err)
	if h := t.hooks.FellBack; h != nil && a.told {
		h(a.ctx, FallbackEvent{Throttle: t, Priority: a.priority, Outcome: a.outcome, Err: err})
	}
	return err
}

// finish ends the attempt, and tells of it with the error that leaves it.
func (a *attempt) finish(err error) {
	a.stage = over
	if a.told {
		a.tellFinished(err)
	}
}

func (a *attempt) tellFinished(err error) {
	h := a.throttle.hooks.Finished
	if h == nil || a.outcome == Shed {
		return
	}
	h(a.ctx, FinishEvent{
		Throttle: a.throttle, Priority: a.priority, Outcome: a.outcome, Fault: a.fault,
		Err: err, Duration: a.duration, FellBack: a.fellBack, Shadow: a.shadow,
	})
}

// abandon ends an attempt whose function, fallback or hook panicked or left its goroutine. It does nothing to one that
// has come to its end.
func (a *attempt) abandon() {
	if a.stage != over {
		a.collapse()
	}
}

func (a *attempt) collapse() {
	defer a.finish(ErrPanicked)
	switch a.stage {
	case running:
		a.book(Ignored, FaultPanic, a.throttle.elapsed())
	case falling:
		_ = a.land(ErrPanicked) // which is what it returns
	}
}
