package bucket_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func TestTake_InvalidNumbers(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.Per(10, time.Hour)})
	for n, want := range map[int64]error{-1: bucket.ErrNegative, math.MinInt64: bucket.ErrNegative, 11: bucket.ErrExceedsCapacity, math.MaxInt64: bucket.ErrExceedsCapacity} {
		if d, err := l.DecideN(t.Context(), "k", n); !errors.Is(err, want) || d.Allowed {
			t.Errorf("DecideN(%d): %+v, %v, want %v", n, d, err, want)
		}
		wants(t, l.Wait(t.Context(), "k", n), want, "Wait(%d)", n)
	}
	if d, err := l.DecideN(t.Context(), "k", 0); err != nil || !d.Allowed || d.Remaining != 10 {
		t.Errorf("DecideN(0): %+v, %v", d, err)
	}
	if d, err := l.DecideAtMost(t.Context(), "k", math.MaxInt64); err != nil || d.Granted != 10 {
		t.Errorf("DecideAtMost(all): %+v, %v", d, err)
	}
	if d, err := l.DecideAtMost(t.Context(), "k", 5); err != nil || d.Allowed || d.RetryAfter <= 0 {
		t.Errorf("DecideAtMost of an empty bucket: %+v, %v", d, err)
	}
	if _, err := l.DecideAtMost(t.Context(), "k", -1); !errors.Is(err, bucket.ErrNegative) {
		t.Errorf("DecideAtMost(-1): %v", err)
	}
	want := bucket.Stats{Name: "test", Granted: 1, Denied: 1, Tokens: 10, Limit: bucket.Per(10, time.Hour)}
	equals(t, l.Stats(), want, "stats")
}

// TestGuard_PassesTheContext checks that the function gets the context of its caller.
func TestGuard_PassesTheContext(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	value := bucket.Guard(l.Requester("k"), func(ctx context.Context) (any, error) { return ctx.Value(mark{}), nil })
	if got, err := value(context.WithValue(t.Context(), mark{}, 7)); err != nil || got != 7 {
		t.Errorf("got %v, %v want the caller's value", got, err)
	}
}

// TestGuard_Nil gives it no function, which takes no token, and no context.
func TestGuard_Nil(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
	if _, err := bucket.Guard[any](l.Requester("k"), nil)(t.Context()); err == nil || errors.Is(err, throttle.ErrShed) {
		t.Errorf("no function: got %v want an error that is not ErrShed", err)
	}
	deadline := bucket.Guard(l.Requester("k"), func(ctx context.Context) (bool, error) { _, ok := ctx.Deadline(); return ok, nil })
	if got, err := deadline(nil); err != nil || got {
		t.Errorf("no context: got %v, %v want that of context.Background", got, err)
	}
}

// requests are those that can be made of a limiter, by name.
func requests(l *bucket.Limiter) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Decide":       func(ctx context.Context) error { _, err := l.Decide(ctx, "k"); return err },
		"DecideN":      func(ctx context.Context) error { _, err := l.DecideN(ctx, "k", 1); return err },
		"DecideAtMost": func(ctx context.Context) error { _, err := l.DecideAtMost(ctx, "k", 1); return err },
		"Peek":         func(ctx context.Context) error { _, err := l.Peek(ctx, "k"); return err },
		"Take":         func(ctx context.Context) error { return l.Take(ctx, "k", 1) },
		"Wait":         func(ctx context.Context) error { return l.Wait(ctx, "k", 1) },
		"Return":       func(ctx context.Context) error { return l.Return(ctx, "k", 1) },
		"Reset":        func(ctx context.Context) error { return l.Reset(ctx, "k") },
		"RequestToken": func(ctx context.Context) error { return l.Requester("k").RequestToken(ctx) },
	}
}

// TestTake_NilContext checks that a nil context works in all methods, with each kind of store.
func TestTake_NilContext(t *testing.T) {
	for name, store := range map[string]store.Store{"memory": nil, "remote": newRemote()} {
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), StoreTimeout: time.Minute})
		for request, ask := range requests(l) {
			wants(t, ask(nil), nil, "%s, %s", name, request)
		}
	}
}

// TestAllow checks that Allow is true if a token was granted, also by the policy, and false for a
// denial and every error.
func TestAllow(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	hour := bucket.Every(time.Hour)
	empty := limiter(t, bucket.Config{Limit: hour})
	_ = empty.Take(t.Context(), "k", 1)
	for name, tt := range map[string]struct {
		l    *bucket.Limiter
		ctx  context.Context
		want bool
	}{
		"granted":          {limiter(t, bucket.Config{Limit: hour}), t.Context(), true},
		"granted, nil ctx": {limiter(t, bucket.Config{Limit: hour}), nil, true},
		"denied":           {empty, t.Context(), false},
		"ctx has ended":    {limiter(t, bucket.Config{Limit: hour}), ended, false},
		"nil limiter":      {nil, t.Context(), false},
		"zero limiter":     {&bucket.Limiter{}, t.Context(), false},
		"FailOpen":         {limiter(t, bucket.Config{Limit: hour, Store: newFailing()}), t.Context(), true},
		"FailClosed":       {limiter(t, bucket.Config{Limit: hour, Store: newFailing(), OnFailure: bucket.FailClosed}), t.Context(), false},
		"LocalShare":       {limiter(t, bucket.Config{Limit: hour, Store: newFailing(), OnFailure: bucket.LocalShare}), t.Context(), true},
	} {
		equals(t, tt.l.Allow(tt.ctx, "k"), tt.want, "%s", name)
	}
}
