package otelthrottle_test

import (
	"context"
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

// end lets calls end so, each after its turn.
func end(ctx context.Context, t testing.TB, r *backoff.Responsive, outcomes ...backoff.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		p, err := r.Wait(ctx)
		if err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		p.Finish(o)
	}
}
