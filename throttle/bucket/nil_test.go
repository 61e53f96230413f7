package bucket_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
)

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

// TestLimitersThatNobodyMade answer with an error, also one that is there but did not come from New.
func TestLimitersThatNobodyMade(t *testing.T) {
	for name, l := range map[string]*bucket.Limiter{"nil": nil, "zero": {}} {
		all := requests(l)
		all["SetLimit"] = func(context.Context) error { return l.SetLimit(bucket.PerSecond(1)) }
		for request, ask := range all {
			if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "nil or zero Limiter") {
				t.Errorf("%s: %s: got %v want an error that says so", name, request, err)
			}
		}
		if s := l.Stats(); l.Name() != "" || !reflect.DeepEqual(s, bucket.Stats{}) || l.Close() != nil {
			t.Errorf("%s: got %q and %+v want nothing", name, l.Name(), s)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Middleware: got no panic", name)
				}
			}()
			bucket.Middleware(l, bucket.MiddlewareConfig{})
		}()
	}
}
