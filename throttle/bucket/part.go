package bucket

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	failuresToRest  = 10  // failures in a row that begin a pause
	maxWaitingCalls = 512 // that wait for another call to end
	busyTimeouts    = 10  // timeouts without an answer, after which a store is not just busy
)

// part is a part of a remote store that fails on its own: see [store.Partitioned]. It makes the calls for
// the keys of that part.
type part struct {
	guard *remote.Guard

	mu    sync.Mutex
	keys  map[string]*keyState // keys with a call in flight, a batch or a lease
	line  []*batch             // that wait for a call
	calls int                  // that are under way, of a ManyTaker
	timed bool                 // a timer will make a call
	pace  int                  // paceStep for each call at the same time, but the first
}

// keyState is the state of one key that is requested for one token at a time.
type keyState struct {
	inFlight bool   // a call is in flight
	next     *batch // that later callers join; nil if there is none
	lease    lease
}

// newPart returns a part of the store. Its guard makes a pause only if no call was answered for
// some time. Failures alone do not show that the store is down: several servers may share an address,
// and one of them fails.
func (l *Limiter) newPart() *part {
	c, ok := l.config.Store.(store.Cancelable)
	prompt := ok && c.Cancelable() // it can be called on the caller's goroutine
	return &part{keys: map[string]*keyState{}, pace: paceStep, guard: remote.NewGuard(remote.Rules{
		Timeout: l.config.StoreTimeout, Prompt: prompt, Early: true, Calls: l.config.MaxCalls, Waiting: maxWaitingCalls,
		Failures: failuresToRest, Silence: 2 * l.config.StoreTimeout, Judge: judge,
	})}
}

func judge(err error) remote.Verdict {
	switch {
	case err == nil:
		return remote.Answered
	case errors.Is(err, store.ErrNotSent):
		return remote.Unknown
	}
	return remote.Failed
}

func (l *Limiter) partOf(key string) *part {
	if l.parted == nil {
		return l.whole
	}
	name := l.parted.Part(key)
	if p, ok := l.parts.Load(name); ok {
		return p.(*part)
	}
	p, _ := l.parts.LoadOrStore(name, l.newPart())
	return p.(*part)
}

func (l *Limiter) eachPart(f func(*part)) {
	f(l.whole)
	l.parts.Range(func(_, p any) bool {
		f(p.(*part))
		return true
	})
}

// maxCalls returns the number of calls that the part may make at the same time now.
func (p *part) maxCalls(l *Limiter) int { return min(1+p.pace/paceStep, l.maxCalls()) }

// paced records how a call went. Slow calls, and those for which no connection is free, may wait for each other. Then
// there are half as many, and each takes more batches. After some fast ones there is one more.
func (p *part) paced(l *Limiter, fast bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fast {
		p.pace = min(p.pace+1, paceStep*(l.maxCalls()-1))
	} else {
		p.pace /= 2
	}
}

// mayBeBusy reports whether a store is not gone but may be busy: it has answered lately, and this answer is late. One
// late call decides for all its callers, so it shows little about the store.
func (p *part) mayBeBusy(l *Limiter, err error) bool {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, remote.ErrBusy) || errors.Is(err, store.ErrNotSent)
	return late && !p.guard.Silent(busyTimeouts*l.config.StoreTimeout)
}

// maxCalls returns the number of calls that a part may make at the same time.
func (l *Limiter) maxCalls() int { return int(cmp.Or(l.bound.Load(), int64(l.config.MaxCalls))) }

func (p *part) state(key string) *keyState {
	s := p.keys[key]
	if s == nil {
		s = &keyState{}
		p.keys[key] = s
	}
	return s
}

// join adds a caller to the next batch of the key, and returns its slot.
func (s *keyState) join(r store.Request) (b *batch, slot int) {
	if s.next == nil {
		s.next = &batch{Request: r, shared: s}
	}
	b = s.next
	b.Limit = r.Limit
	b.size++
	return b, b.size - 1
}

// drop deletes the state of a key that has no call in flight, no batch and no lease.
func (p *part) drop(key string, s *keyState) {
	if !s.inFlight && s.next == nil && !s.lease.active && p.keys[key] == s {
		delete(p.keys, key)
	}
}

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
	case p.calls < min(freeCalls, p.maxCalls(l)):
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
	} else if l.config.OnFailure != FailClosed {
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
			go p.giveUp(l, b, err)
		}
	}
	p.drop(key, s)
	return next
}
