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

// ticket keeps an attempt between Admit and Done. It is used again; each use is a round, so that
// a Call whose round is over can do no harm.
type ticket struct {
	attempt attempt
	round   atomic.Uint64
	_       [48]byte // a pair of cache lines of its own
}

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
	return Call{ticket: k, round: k.round.Load(), ctx: k.attempt.ctx}, nil
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

// Done tells that the call has ended with err, which is classified as [Throttle.Do] would. The first Done or Finish
// counts; any further one, also on a copy of the Call, does nothing.
func (c Call) Done(err error) {
	if !c.take() {
		return
	}
	a := &c.ticket.attempt
	defer c.ticket.release()
	err = a.settle(err)
	a.finish(err)
}

// Finish tells that the call has ended with outcome o: Accepted, Rejected or Ignored, which any other value counts as.
// The first Done or Finish counts.
func (c Call) Finish(o Outcome) {
	if !c.take() {
		return
	}
	a := &c.ticket.attempt
	defer c.ticket.release()
	a.book(min(o, Ignored), FaultNone, a.throttle.elapsed())
	a.finish(nil)
}

// take ends the call's round, and reports whether it had not ended before.
func (c Call) take() bool {
	return c.ticket != nil && c.ticket.round.CompareAndSwap(c.round, c.round+1)
}

// release gives the ticket back when its attempt has come to an end, good or bad.
func (k *ticket) release() {
	k.attempt.abandon()
	t := k.attempt.throttle
	k.attempt = attempt{}
	t.tickets.Put(k)
}
