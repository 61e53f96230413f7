// Package remote calls services that may be slow or down, such as stores. It bounds the time of
// each call, and pauses calls after several failures.
//
// A [Guard] is a small circuit breaker inside this module. It is separate from package breaker,
// because breaker's own stores need one too.
package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The limits of a [Guard].
const (
	FailuresToRest = 3                      // failures in a row that begin a pause
	ShortestRest   = 250 * time.Millisecond // first pause; each next one is twice as long
	LongestRest    = time.Second            // short, so that a recovered service is noticed soon
	MostAbandoned  = 64                     // calls without a result after which no call is made
)

// ErrResting is the error of [Ask] during a pause.
var ErrResting = errors.New("not called after several failures, next attempt within 1s")

// Guard limits the calls of one service. It waits for no call longer than its timeout. After
// FailuresToRest failures in a row it makes no calls during a pause, which doubles with each
// further failure. Create it with [NewGuard]. All methods are safe for concurrent use.
type Guard struct {
	timeout time.Duration
	prompt  bool
	failure func(error) bool

	mu        sync.Mutex
	failures  int           // in a row
	pause     time.Duration // length of the last pause; 0 after a success
	until     time.Time     // end of the last pause
	abandoned int           // calls in flight without a waiting caller
}

// NewGuard returns a guard. If prompt is true, calls must return as soon as their context ends, and
// run on the caller's goroutine. Otherwise each call runs on a goroutine of its own, which the
// caller may abandon. Failure reports whether an error counts as a failure. It is called after each
// call whose context has not ended, nil errors included, with no lock held.
func NewGuard(timeout time.Duration, prompt bool, failure func(error) bool) *Guard {
	return &Guard{timeout: timeout, prompt: prompt, failure: failure}
}

// Ask makes one call, or returns [ErrResting] during a pause. If the call returns a value after its
// caller gave up, Ask passes it to late, which may be nil.
func Ask[T any](ctx context.Context, g *Guard, call func(context.Context) (T, error), late func(T)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if err := g.allow(); err != nil {
		return zero, err
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	value, err := ask(bounded, g, call, late)
	if ctx.Err() == nil { // a canceled call says nothing about the service
		g.record(g.failure(err))
	}
	return value, err
}

// ask makes one call until ctx ends.
func ask[T any](ctx context.Context, g *Guard, call func(context.Context) (T, error), late func(T)) (T, error) {
	if g.prompt {
		return Run(ctx, call)
	}
	value, err := Await(ctx, call, func(value T, err error) {
		g.addAbandoned(-1)
		if err == nil && late != nil {
			late(value)
		}
	})
	if errors.Is(err, ErrNoAnswer) {
		g.addAbandoned(1)
	}
	return value, err
}

// addAbandoned changes the number of abandoned calls.
func (g *Guard) addAbandoned(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.abandoned += n
}

// allow returns an error during a pause, and if too many calls are abandoned.
func (g *Guard) allow() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned >= MostAbandoned || time.Now().Before(g.until) {
		return ErrResting
	}
	return nil
}

// record records the end of a call. A failure may begin a pause.
func (g *Guard) record(failed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !failed:
		g.failures, g.pause = 0, 0
	case time.Now().Before(g.until): // the call began before the pause
	case g.failures+1 < FailuresToRest:
		g.failures++
	default:
		g.pause = min(max(2*g.pause, ShortestRest), LongestRest)
		g.until = time.Now().Add(g.pause)
	}
}
