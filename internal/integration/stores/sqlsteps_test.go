package stores_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// sqlSteps are all that a store does, each once.
func sqlSteps(ctx context.Context, b breaker.Store) map[string]error {
	_, campaign := b.Campaign(ctx, breaker.Candidate{Owner: "me", TTL: time.Minute})
	_, versions := b.Versions(ctx)
	_, load := b.Load(ctx, []int{0, 63})
	_, apply := b.Apply(ctx, breaker.Batch{Shard: 5, Changes: []breaker.Change{{Data: []byte("x")}}})
	_, probe := b.Probe(ctx, []breaker.ProbeRequest{{Since: time.Unix(0, 0), Every: time.Hour, Budget: 1, Want: 1}})
	return map[string]error{
		"campaign": campaign, "versions": versions, "load": load, "apply": apply, "probe": probe,
		"resign": b.Resign(ctx, breaker.Lease{Owner: "me", Term: 1}),
	}
}

// sqlFailsInTime does each step with a context that ends soon, and wants errors before anything else changes.
func sqlFailsInTime(t *testing.T, what string, steps func(context.Context) map[string]error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan map[string]error, 1)
	go func() { done <- steps(ctx) }()
	late := time.NewTimer(program.Patience)
	defer late.Stop()
	select {
	case errs := <-done:
		for step, err := range errs {
			if err == nil {
				t.Errorf("%s: %s: got no error", what, step)
			}
		}
	case <-late.C:
		t.Fatalf("%s: the context has ended, and a step has not", what)
	}
}

// sqlWorksAgain waits until the store answers.
func sqlWorksAgain(t *testing.T, b breaker.Store) {
	t.Helper()
	program.Eventually(t, "the store answers", func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := b.Versions(ctx); err != nil {
			return err.Error()
		}
		return ""
	})
	for step, err := range sqlSteps(t.Context(), b) {
		if err != nil && !errors.Is(err, breaker.ErrConflict) {
			t.Errorf("afterwards: %s: %v", step, err)
		}
	}
}
