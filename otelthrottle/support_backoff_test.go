package otelthrottle_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoff returns a Responsive without noise that the adapter watches, beside the hooks in c. By default it is called table, is in the mode
// Pace and begins with a second.
func (l *lab) backoff(t testing.TB, c backoff.Config) *backoff.Responsive {
	t.Helper()
	if c.Name == "" {
		c.Name = "table"
	}
	if c.InitialInterval == 0 {
		c.InitialInterval = time.Second
	}
	c.RandomizationFactor = -1
	c.Hooks = backoff.JoinHooks(l.tel.BackoffHooks(), c.Hooks)
	r, err := backoff.New(c)
	if err != nil {
		t.Fatalf("backoff.New: got error %v want nil", err)
	}
	return r
}

func wait(ctx context.Context, t testing.TB, r *backoff.Responsive) backoff.Permit {
	t.Helper()
	p, err := r.Wait(ctx)
	if err != nil {
		t.Errorf("Wait: got error %v want nil", err)
	}
	return p
}

// end lets calls end so, each after its turn.
func end(ctx context.Context, t testing.TB, r *backoff.Responsive, outcomes ...backoff.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		wait(ctx, t, r).Finish(o)
	}
}

// giveUp waits for a turn, until it is in line, and no longer.
func giveUp(ctx context.Context, t testing.TB, r *backoff.Responsive) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	others := r.Stats().Waiting
	watching.Go(func() {
		for r.Stats().Waiting == others && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel()
	})
	if _, err := r.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: got error %v want %v", err, context.Canceled)
	}
	cancel()
	watching.Wait()
}

// everyOutcome has a backoff with an hour to wait do everything except steps down. No call waits that long.
func everyOutcome(t testing.TB, r *backoff.Responsive) {
	t.Helper()
	end(t.Context(), t, r, backoff.Success, backoff.Ignored)
	end(t.Context(), t, r, backoff.ThrottledFor(time.Hour))
	giveUp(t.Context(), t, r)
}
