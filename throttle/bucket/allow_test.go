package bucket_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestOddNumbers(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(10)})
	for n, want := range map[int64]error{-1: bucket.ErrNegative, math.MinInt64: bucket.ErrNegative, 11: bucket.ErrExceedsCapacity, math.MaxInt64: bucket.ErrExceedsCapacity} {
		if d, err := l.AllowN(t.Context(), "k", n); !errors.Is(err, want) || d.Allowed {
			t.Errorf("AllowN(%d): %+v, %v, want %v", n, d, err, want)
		}
		if err := l.Wait(t.Context(), "k", n); !errors.Is(err, want) {
			t.Errorf("Wait(%d): %v, want %v", n, err, want)
		}
	}
	if d, err := l.AllowN(t.Context(), "k", 0); err != nil || !d.Allowed || d.Remaining != 10 {
		t.Errorf("AllowN(0): %+v, %v", d, err)
	}
	if d, err := l.AllowAtMost(t.Context(), "k", math.MaxInt64); err != nil || d.Granted != 10 {
		t.Errorf("AllowAtMost(all): %+v, %v", d, err)
	}
	if d, err := l.AllowAtMost(t.Context(), "k", 5); err != nil || d.Allowed || d.RetryAfter <= 0 {
		t.Errorf("AllowAtMost of an empty bucket: %+v, %v", d, err)
	}
	if _, err := l.AllowAtMost(t.Context(), "k", -1); !errors.Is(err, bucket.ErrNegative) {
		t.Errorf("AllowAtMost(-1): %v", err)
	}
	want := bucket.Stats{Name: "test", Granted: 1, Denied: 1, Tokens: 10, Limit: bucket.PerSecond(10)}
	if got := l.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestKeysOfAnyBytes(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	for _, key := range []string{"", ":", "a:b", "\x00", "\xff\xfe", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20+1)} {
		for _, want := range []bool{true, false} {
			if d, err := l.Allow(t.Context(), key); err != nil || d.Allowed != want {
				t.Errorf("%.20q: %v, %v, want %v", key, d.Allowed, err, want)
			}
		}
	}
}

// TestTheDocumentsProgram plays it: two calls a second, five callers each second. Two succeed and three fail in every second, and never more than
// two in one second of the clock, which the document's own program does not keep.
func TestTheDocumentsProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := bucket.Limit{Capacity: 2, Period: time.Second, Algorithm: bucket.Fixed}
		l := limiter(t, bucket.Config{Limit: limit})
		type ctxKey struct{}
		limited := bucket.Guard(l.Requester("k"), func(ctx context.Context) (string, error) {
			if ctx.Value(ctxKey{}) == nil {
				t.Error("the function got another context than its caller's")
			}
			return "done", nil
		})
		for second := range 3 {
			succeeded, failed := 0, 0
			for range 5 {
				switch result, err := limited(context.WithValue(t.Context(), ctxKey{}, true)); {
				case err == nil && result == "done":
					succeeded++
				case errors.Is(err, bucket.ErrDenied):
					failed++
				}
			}
			if succeeded != 2 || failed != 3 {
				t.Errorf("second %d: %d succeeded and %d failed, want 2 and 3", second, succeeded, failed)
			}
			time.Sleep(time.Second)
		}
	})
}

// requests are those that can be made of a limiter, by name.
func requests(l *bucket.Limiter) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Allow":        func(ctx context.Context) error { _, err := l.Allow(ctx, "k"); return err },
		"AllowN":       func(ctx context.Context) error { _, err := l.AllowN(ctx, "k", 1); return err },
		"AllowAtMost":  func(ctx context.Context) error { _, err := l.AllowAtMost(ctx, "k", 1); return err },
		"Peek":         func(ctx context.Context) error { _, err := l.Peek(ctx, "k"); return err },
		"Take":         func(ctx context.Context) error { return l.Take(ctx, "k", 1) },
		"Wait":         func(ctx context.Context) error { return l.Wait(ctx, "k", 1) },
		"Return":       func(ctx context.Context) error { return l.Return(ctx, "k", 1) },
		"Reset":        func(ctx context.Context) error { return l.Reset(ctx, "k") },
		"RequestToken": func(ctx context.Context) error { return l.Requester("k").RequestToken(ctx) },
	}
}

// TestANilContextIsTheBackground whatever is asked for, and wherever the store is.
func TestANilContextIsTheBackground(t *testing.T) {
	for name, store := range map[string]bucket.Store{"memory": nil, "remote": newRemote()} {
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100)})
		for request, ask := range requests(l) {
			if err := ask(nil); err != nil {
				t.Errorf("%s, %s: got %v want nil", name, request, err)
			}
		}
	}
}
