package bucket

import (
	"errors"
	"sync"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	failuresToRest  = 10  // failures in a row that begin a pause
	maxWaitingCalls = 512 // that wait for another call to end
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
	return &part{keys: map[string]*keyState{}, guard: remote.NewGuard(remote.Rules{
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

// maxCalls returns the number of calls that a part may make at the same time.
func (l *Limiter) maxCalls() int {
	if b, ok := l.config.Store.(store.Bounded); ok {
		return min(l.config.MaxCalls, max(1, b.MaxCalls()))
	}
	return l.config.MaxCalls
}

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
