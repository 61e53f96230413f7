package bucket

import (
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
)

// part is a part of a remote store that fails on its own: see [store.Partitioned]. For a [store.ManyTaker],
// it also combines questions about several keys.
type part struct {
	guard *remote.Guard

	mu      sync.Mutex
	flights int
	waiting []*question
	timed   bool // a timer will start a flight
}

// newPart returns a part of the store. Its guard makes a pause only if no question was answered for
// some time. Failures alone do not show that the store is down: several servers may share an address,
// and one of them fails.
func (l *Limiter) newPart() *part {
	return &part{guard: remote.NewGuard(remote.Rules{
		Timeout: l.config.StoreTimeout, Prompt: isCancelable(l.config.Store), Early: true, Calls: l.config.MaxCalls, Waiting: maxWaitingCalls,
		Failures: failuresToRest, Silence: 2 * l.config.StoreTimeout, Judge: judge,
	})}
}

// judge returns what an error of the store shows about it.
func judge(err error) remote.Verdict {
	switch {
	case err == nil:
		return remote.Answered
	case errors.Is(err, store.ErrNotSent):
		return remote.Unknown
	}
	return remote.Failed
}

// partOf returns the part of the store with a key.
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

// ask returns the answer of the store to a question.
func (p *part) ask(ctx context.Context, l *Limiter, q *storeRequest) (Decision, error) {
	if l.many == nil {
		return l.askOne(ctx, p, q)
	}
	if p.guard.Resting() {
		return Decision{}, remote.ErrResting
	}
	w, err := p.board(l, q)
	switch {
	case err != nil:
		return Decision{}, err
	case w != nil:
		return p.wait(ctx, l, w)
	}
	defer p.land(l)
	return l.askOne(ctx, p, q)
}

// askOne makes a store call for one question, on the goroutine of its caller.
func (l *Limiter) askOne(ctx context.Context, p *part, q *storeRequest) (Decision, error) {
	start := time.Now()
	d, err := remote.Ask(ctx, p.guard, func(ctx context.Context) (Decision, error) { return l.takeChecked(ctx, q.Request) },
		func(late Decision) { l.returnLate(q.Key, late.Granted) })
	if h := l.config.Hooks.StoreCalled; h != nil && wasCalled(err) {
		l.callHook(ctx, StoreEvent{Limiter: l, Duration: time.Since(start), Requests: q.requests, Err: err})
	}
	return d, err
}

// wasCalled reports whether an error of [remote.Ask] is that of a call.
func wasCalled(err error) bool {
	return !errors.Is(err, remote.ErrResting) && !errors.Is(err, remote.ErrBusy)
}
