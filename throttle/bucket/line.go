package bucket

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// take takes the tokens of a request. A shared one is for one token: callers who come while a call for the key is
// in flight, or while its batch waits in line, share the next call.
func (p *part) take(ctx context.Context, l *Limiter, r store.Request, requests int, shared bool) (Decision, error) {
	var b *batch
	slot, waits := 0, false
	p.mu.Lock()
	if shared {
		s := p.state(r.Key)
		if d, ok := s.lease.decide(&r.Limit); ok {
			p.mu.Unlock()
			return d, nil
		}
		b, slot = s.join(r)
		waits = slot > 0 || s.inFlight
	} else {
		b = &batch{Request: r, requests: requests, size: 1}
	}
	direct, err := false, error(nil)
	if !waits {
		direct, err = p.enter(l, b)
	} else if b.done == nil {
		b.done = make(chan struct{})
	}
	p.mu.Unlock()
	switch {
	case err != nil:
	case direct:
		if next := p.call(ctx, l, b); next != nil {
			go p.callAll(l, next)
		}
	default:
		err = p.wait(ctx, l, b, slot)
	}
	if err != nil {
		return l.undecided(ctx, p.own(b), 0, err)
	}
	return b.decision(slot), b.err
}

// enter starts a batch, which the caller must then call for, or puts it into the line. If it does neither, it
// returns an error.
func (p *part) enter(l *Limiter, b *batch) (direct bool, err error) {
	switch {
	case l.many == nil:
	case p.guard.Resting():
		err = remote.ErrResting
	case p.calls < min(freeCalls, l.maxCalls()):
		p.calls++
	case len(p.line) >= maxLine:
		err = remote.ErrBusy
	default:
		if b.done == nil {
			b.done = make(chan struct{})
		}
		b.since = time.Now()
		p.line = append(p.line, b)
		p.startTimer(l)
		return false, nil
	}
	if err != nil && b.shared != nil {
		b.shared.next = nil
		p.drop(b.Key, b.shared)
	}
	return err == nil && b.start(l), err
}

// finish ends a batch with the answer of the store, or with the decision of the policy. It returns the next
// batch of the key if the caller must call for it.
func (p *part) finish(ctx context.Context, l *Limiter, b *batch, d Decision, err error) (next *batch) {
	if err != nil {
		d, err = l.undecided(ctx, b.Request, b.ahead, err)
	} else if l.config.OnFailure == LocalShare {
		l.share.spend(&b.Request, &d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b.answer, b.err = d, err
	unused := b.end()
	s := b.shared
	if s != nil {
		unused = p.extendLease(l, b, unused)
		p.cacheDenial(l, b)
		next = p.release(l, b.Key, s)
	}
	if unused > 0 {
		go l.giveBack(context.Background(), b.Key, unused, false)
	}
	return next
}

// release ends the call for a key, and enters the batch that has waited for it. It returns the batch if the
// caller must call for it.
func (p *part) release(l *Limiter, key string, s *keyState) (next *batch) {
	s.inFlight = false
	if s.next != nil && s.next.isEmpty() {
		s.next = nil
	}
	if b := s.next; b != nil {
		direct, err := p.enter(l, b)
		if direct {
			next = b
		}
		if err != nil {
			b.start(l)
			go p.finish(context.Background(), l, b, Decision{}, err)
		}
	}
	p.drop(key, s)
	return next
}
