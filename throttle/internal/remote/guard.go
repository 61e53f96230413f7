// Package remote asks what is elsewhere, such as a store: it waits for no answer longer than agreed, and asks no more for a while what
// does not answer.
package remote

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The patience of a [Guard].
const (
	FailuresToRest = 3 // in a row
	ShortestRest   = 250 * time.Millisecond
	LongestRest    = time.Second // so that a store that has come back is asked soon
	MostAbandoned  = 64          // calls that nobody waits for any more
)

// ErrResting means that what has failed was not asked.
var ErrResting = errors.New("it has failed before, and is not asked for a while")

// Guard stands before something that may fail: it waits for no call longer than the timeout, and after some failures in a row it lets nobody ask
// for a while, which doubles. Make it with [NewGuard].
type Guard struct {
	timeout time.Duration
	prompt  bool
	failure func(error) bool

	mu        sync.Mutex
	failures  int // in a row
	rest      time.Duration
	until     time.Time
	abandoned int
}

// NewGuard returns a guard. Calls that are prompt return as soon as their context ends; others are made on a goroutine that can be left behind. The
// function tells which errors are failures; it is asked about each answer whose context has not ended, with no lock held.
func NewGuard(timeout time.Duration, prompt bool, failure func(error) bool) *Guard {
	return &Guard{timeout: timeout, prompt: prompt, failure: failure}
}

// Ask makes one call, or returns [ErrResting]. A value that comes when nobody waits for it any more is given to late, if that is not nil.
func Ask[T any](ctx context.Context, g *Guard, call func(context.Context) (T, error), late func(T)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if err := g.enter(); err != nil {
		return zero, err
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	answer, err := ask(bounded, g, call, late)
	if ctx.Err() == nil { // otherwise whoever asked has left; it says nothing about what was asked
		g.note(g.failure(err))
	}
	return answer, err
}

// ask makes one call within its time.
func ask[T any](ctx context.Context, g *Guard, call func(context.Context) (T, error), late func(T)) (T, error) {
	if g.prompt {
		return Run(ctx, call)
	}
	answer, err := Await(ctx, call, func(value T, err error) {
		g.leftBehind(-1)
		if err == nil && late != nil {
			late(value)
		}
	})
	if errors.Is(err, ErrNoAnswer) {
		g.leftBehind(1)
	}
	return answer, err
}

// leftBehind counts calls that nobody waits for any more.
func (g *Guard) leftBehind(more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.abandoned += more
}

// enter refuses to ask what rests, or what has not come back from too many calls.
func (g *Guard) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned >= MostAbandoned || time.Now().Before(g.until) {
		return ErrResting
	}
	return nil
}

// note notes how a call ended.
func (g *Guard) note(failed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !failed:
		g.failures, g.rest = 0, 0
	case time.Now().Before(g.until): // one of those who were asking already
	case g.failures+1 < FailuresToRest:
		g.failures++
	default:
		g.rest = min(max(2*g.rest, ShortestRest), LongestRest)
		g.until = time.Now().Add(g.rest)
	}
}
