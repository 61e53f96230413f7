package throttle

import (
	"context"
	"sync/atomic"
)

// Call is an admitted call whose end its owner will tell: the two-phase form of [Throttle.Do], for transports. The
// zero Call is what a shed call gets, and its methods do nothing.
type Call struct {
	ticket *ticket
	round  uint64
	ctx    context.Context
}

// ticket keeps an attempt between Admit and Done. It is used again; each use is a round of several steps, so that
// a Call whose round is over can do no harm.
type ticket struct {
	attempt attempt
	step    atomic.Uint64
	answer  error // with which the call was answered before its end
	_       [32]byte
}

// The steps of a round, counted from the one that its Call knows. They only go up.
const (
	stepBegun     = iota // as Admit left it
	stepAnswering        // Answered is at work
	stepAnswered         // the outcome is in the books, and the call goes on
	stepLeft             // Answered is at work, and will end the call as well: its end came meanwhile
	stepsOfRound         // over, which is how the next round begins
)

// Admit decides about a call that the caller makes himself. It returns the call, whose end must be told by [Call.Done]
// or [Call.Finish], or the error with which it was shed. Priority, context and bad input are as for [Throttle.Do].
//
// A call whose end is never told stays in flight in [Throttle.Stats], and counts as nothing else.
func (t *Throttle) Admit(ctx context.Context, p Priority) (Call, error) {
	ctx, err := sound(ctx, t, true)
	if err != nil {
		return Call{}, err
	}
	k := t.tickets.Get().(*ticket)
	if err = k.attempt.begin(ctx, t, p); err != nil {
		k.attempt = attempt{}
		t.tickets.Put(k)
		return Call{}, err
	}
	if t.listens {
		k.announce()
	}
	return Call{ticket: k, round: k.step.Load(), ctx: k.attempt.ctx}, nil
}

// announce tells the hooks that the call starts, and that it is over if they panic: there will be no Call to end it.
func (k *ticket) announce() {
	announced := false
	defer func() {
		if !announced {
			k.attempt.abandon()
		}
	}()
	k.attempt.announce()
	announced = true
}

// Context returns the context to make the call with: Admit's, or what the Started hook made of it.
func (c Call) Context() context.Context {
	if c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

// Answered tells the outcome of a call that goes on, such as a request whose response has begun to arrive: err is classified and
// counted now, and the Duration ends, while the call stays in flight until Done or Finish, which then only end it. So the next
// decisions know an outcome whose call may end much later, or never. The first Answered counts, if the call has not ended.
func (c Call) Answered(err error) {
	if !c.move(stepBegun, stepAnswering) {
		return
	}
	defer c.goOn()
	c.ticket.linger()
	c.ticket.answer = c.ticket.attempt.settle(err)
}

// goOn leaves an answered call to its end, or ends it, if that has come meanwhile or the classifier has panicked.
func (c Call) goOn() {
	k := c.ticket
	if k.attempt.stage == settled && c.move(stepAnswering, stepAnswered) {
		return
	}
	if c.move(stepAnswering, stepsOfRound) || c.move(stepLeft, stepsOfRound) {
		k.end(nil)
	}
}

// Done tells that the call has ended with err, which is classified as [Throttle.Do] would if the call was not answered before.
// The first Done or Finish counts; any further one, also on a copy of the Call, does nothing.
func (c Call) Done(err error) {
	if !c.move(stepBegun, stepsOfRound) {
		c.endAnswered(err)
		return
	}
	a := &c.ticket.attempt
	defer c.ticket.release()
	err = a.settle(err)
	a.finish(err)
}

// Finish tells that the call has ended with outcome o: Accepted, Rejected or Ignored, which any other value counts as. If
// the call was answered before, it keeps that outcome. The first Done or Finish counts.
func (c Call) Finish(o Outcome) {
	if !c.move(stepBegun, stepsOfRound) {
		c.endAnswered(nil)
		return
	}
	a := &c.ticket.attempt
	defer c.ticket.release()
	a.book(min(o, Ignored), FaultNone, a.throttle.elapsed())
	a.finish(nil)
}

// endAnswered ends a call that was answered, or leaves that to whoever is answering it. It does nothing to one that is over.
func (c Call) endAnswered(err error) {
	for c.ticket != nil {
		switch c.ticket.step.Load() - c.round {
		case stepAnswering:
			if c.move(stepAnswering, stepLeft) {
				return
			}
		case stepAnswered:
			if c.move(stepAnswered, stepsOfRound) {
				c.ticket.end(err)
				return
			}
		default:
			return
		}
	}
}

// move takes the round from one step to a later one, and reports whether it stood there.
func (c Call) move(from, to uint64) bool {
	return c.ticket != nil && c.ticket.step.CompareAndSwap(c.round+from, c.round+to)
}

// linger counts the call as in flight beyond its outcome.
func (k *ticket) linger() {
	a := &k.attempt
	a.throttle.ledgers[a.stripe].overtime(a.throttle.priorities, a.priority).begun.Add(1)
}

// leave ends what linger began.
func (k *ticket) leave() {
	a := &k.attempt
	a.throttle.ledgers[a.stripe].overtime(a.throttle.priorities, a.priority).ended.Add(1)
}

// end ends a call that was answered, with the error of its end, if it has one.
func (k *ticket) end(err error) {
	defer k.release()
	if err = unmark(err); err == nil {
		err = k.answer
	}
	k.answer = nil
	k.leave()
	if k.attempt.stage == settled {
		k.attempt.finish(err)
	}
}

// release gives the ticket back when its attempt has come to an end, good or bad.
func (k *ticket) release() {
	k.attempt.abandon()
	t := k.attempt.throttle
	k.attempt = attempt{}
	t.tickets.Put(k)
}
