package stores_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// steps are simple calls of the methods of a store, by the word for each in errors.
type steps map[string]func(context.Context) error

func breakerSteps(s breakerstore.Store) steps {
	return steps{
		"campaign": func(ctx context.Context) error {
			_, err := s.Campaign(ctx, breakerstore.Candidate{Owner: "me", TTL: time.Minute})
			return err
		},
		"resign":   func(ctx context.Context) error { return s.Resign(ctx, breakerstore.Lease{Owner: "me", Term: 1}) },
		"versions": func(ctx context.Context) error { _, err := s.Versions(ctx); return err },
		"load":     func(ctx context.Context) error { _, err := s.Load(ctx, []int{0, 1}); return err },
		"apply": func(ctx context.Context) error {
			_, err := s.Apply(ctx, breakerstore.Batch{Shard: 5, Term: 1, Changes: []breakerstore.Change{{Data: []byte("x")}}})
			return err
		},
		"probe": func(ctx context.Context) error {
			_, err := s.Probe(ctx, []breakerstore.ProbeRequest{{Since: time.Unix(1, 0), Every: time.Minute, Budget: 1, Want: 1}})
			return err
		},
	}
}

func bucketSteps(s bucketstore.Store) steps {
	l := slowly(100)
	return steps{
		"take": func(ctx context.Context) error {
			_, err := s.Take(ctx, bucketstore.Request{Key: "k", Limit: l, Min: 1, Max: 1})
			return err
		},
		"return": func(ctx context.Context) error { return s.Return(ctx, "k", l, 1) },
		"reset":  func(ctx context.Context) error { return s.Reset(ctx, "k") },
	}
}

// lasting returns a limit that refills nothing while a test runs.
func lasting(capacity int64, a bucket.Algorithm) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: max(1, capacity/10), Period: 366 * 24 * time.Hour, Algorithm: a}.WithDefaults()
}

// within does each step with a context that ends soon, and returns the errors. A step that does not end then
// fails the test.
func (all steps) within(t *testing.T, d time.Duration) map[string]error {
	t.Helper()
	errs := map[string]error{}
	for name, step := range all {
		ended := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			ended <- step(ctx)
		}()
		late := time.NewTimer(program.Timeout)
		select {
		case errs[name] = <-ended:
		case <-late.C:
			t.Fatalf("%s did not end with its context", name)
		}
		late.Stop()
	}
	return errs
}

// wantFails does each step with a context that ends soon, and wants errors.
func (all steps) wantFails(t *testing.T, what string) {
	t.Helper()
	for name, err := range all.within(t, 100*time.Millisecond) {
		if err == nil {
			t.Errorf("%s: %s: got no error", what, name)
		}
	}
}

// wantWorks waits until every step succeeds.
func (all steps) wantWorks(t *testing.T) {
	t.Helper()
	for name, step := range all {
		program.Eventually(t, name+" works", func() string {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := step(ctx); err != nil && !errors.Is(err, breakerstore.ErrConflict) {
				return err.Error()
			}
			return ""
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v want none", err)
	}
}
