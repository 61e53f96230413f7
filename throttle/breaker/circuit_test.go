package breaker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// calls are the two ways to make a call. Each returns what the function returns and 7, or no 7 and the error.
func calls() map[string]func(context.Context, *breaker.Circuit, func(context.Context) error) (int, error) {
	return map[string]func(context.Context, *breaker.Circuit, func(context.Context) error) (int, error){
		"Run": func(ctx context.Context, c *breaker.Circuit, fn func(context.Context) error) (int, error) {
			n := 0
			if fn == nil {
				return n, c.Do(ctx, nil)
			}
			return n, c.Do(ctx, func(ctx context.Context) error { n = 7; return fn(ctx) })
		},
		"Do": func(ctx context.Context, c *breaker.Circuit, fn func(context.Context) error) (int, error) {
			if fn == nil {
				return breaker.Do[int](ctx, c, nil)
			}
			return breaker.Do(ctx, c, func(ctx context.Context) (int, error) { return 7, fn(ctx) })
		},
	}
}

// TestCallsEndAsTheirFunctionDoes makes one that succeeds, one that fails, and one that panics, and one when the circuit is disabled.
func TestCallsEndAsTheirFunctionDoes(t *testing.T) {
	for name, call := range calls() {
		t.Run(name, func(t *testing.T) {
			counter := breaker.NewCounter(time.Minute)
			m := agent(t, breaker.Config{Counter: counter})
			k := breaker.Key{ID: "k"}
			c := m.Circuit(k)
			for _, want := range []error{nil, errBoom} {
				n, err := call(t.Context(), c, func(context.Context) error { return want })
				if n != 7 || !errors.Is(err, want) {
					t.Errorf("got %d and %v want 7 and %v", n, err, want)
				}
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = call(t.Context(), c, func(context.Context) error { panic("boom") })
				t.Error("got no panic, want it to go on up")
			}()
			wantCounted(t, counter, k, "1 failed, 1 succeeded")
			must(t, m.Disable(t.Context(), k))
			if n, err := call(t.Context(), c, succeeding); n != 0 || !errors.Is(err, breaker.ErrDisabled) {
				t.Errorf("disabled: got %d and %v want 0 and ErrDisabled", n, err)
			}
		})
	}
}

// TestAContextThatIsOverCountsNothing: neither a success nor a failure, neither an admitted call nor one that was shed.
func TestAContextThatIsOverCountsNothing(t *testing.T) {
	cause := errors.New("the caller has left")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, call := range calls() {
		for _, disabled := range []bool{false, true} {
			counter := breaker.NewCounter(time.Minute)
			m := agent(t, breaker.Config{Counter: counter, Hooks: breaker.Hooks{Shed: func(context.Context, breaker.ShedEvent) {
				t.Errorf("%s: Hooks.Shed was called without a decision", name)
			}}})
			k := breaker.Key{ID: "k"}
			if disabled {
				must(t, m.Disable(t.Context(), k))
			}
			if n, err := call(over, m.Circuit(k), succeeding); n != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, breaker.ErrDisabled) {
				t.Errorf("%s: got %d and %v want 0 and the error of the context", name, n, err)
			}
			wantNoCalls(t, m)
			wantCounted(t, counter, k, "0 failed, 0 succeeded")
		}
	}
}

func wantNoCalls(t *testing.T, m *breaker.Manager) {
	t.Helper()
	if got := m.Stats().Calls; got != [breaker.Disabled + 1]breaker.CallStats{} {
		t.Errorf("got %+v want no calls", got)
	}
}

// TestANilFunctionIsAnError, whatever the context.
func TestANilFunctionIsAnError(t *testing.T) {
	m := agent(t, breaker.Config{})
	for name, call := range calls() {
		if n, err := call(t.Context(), m.Circuit(breaker.Key{ID: "k"}), nil); n != 0 || err == nil {
			t.Errorf("%s: got %d and %v want an error", name, n, err)
		}
	}
	wantNoCalls(t, m)
}
