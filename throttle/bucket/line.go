package bucket

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// takeOne takes one token. Callers who come while a call for the key is in flight, or while its batch waits
// in line, share the next call.
func (p *part) takeOne(ctx context.Context, l *Limiter, key string, limit *Limit) (Decision, error) {
	p.mu.Lock()
	s := p.state(key)
	if d, ok := s.lease.decide(limit); ok {
		p.mu.Unlock()
		return d, nil
	}
	b, direct, err := s.next, false, error(nil)
	if b == nil {
		b = &batch{Request: store.Request{Key: key, Min: 1}, shared: s}
		s.next = b
	}
	b.Limit = *limit
	slot := b.size
	b.size++
	switch {
	case slot > 0:
	case s.inFlight:
		b.done = make(chan struct{})
	default:
		direct, err = p.enter(l, b)
	}
	p.mu.Unlock()
	return p.carry(ctx, l, b, slot, direct, err)
}

// takeSome takes the tokens of a request that is not shared.
func (p *part) takeSome(ctx context.Context, l *Limiter, r store.Request, requests int) (Decision, error) {
	b := &batch{Request: r, requests: requests, size: 1}
	p.mu.Lock()
	direct, err := p.enter(l, b)
	p.mu.Unlock()
	return p.carry(ctx, l, b, 0, direct, err)
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

// carry returns the decision for a slot of a batch that has entered.
func (p *part) carry(ctx context.Context, l *Limiter, b *batch, slot int, direct bool, err error) (Decision, error) {
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

// finish ends a batch with the answer of the store, or with the decision of the policy. It returns the next
// batch of the key if the caller must call for it.
func (p *part) finish(ctx context.Context, l *Limiter, b *batch, d Decision, err error) (next *batch) {
	d, err = l.decided(ctx, b, d, err)
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
		go l.giveBack(context.Background(), b.Key, unused)
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
