//go:build !race

package retry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// TestAllocations wants no allocation by a call that needs no retry, and by one that gets none.
func TestAllocations(t *testing.T) {
	ctx, busy, missing := context.Background(), rejected(), errors.New("no such order")
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }}))
	for name, c := range map[string]retry.Config{"throttle": {Throttle: th}, "alone": {Name: "x"}} {
		c.Budget.Reserve = -1
		c.Hooks = retry.Hooks{Denied: func(context.Context, retry.DenyEvent) {}, Retried: func(context.Context, retry.SentEvent) {}}
		r := throttle.Must(retry.New(c))
		fixed := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
		accepted, wrong, full := fixed(nil), fixed(missing), fixed(busy)
		value := func(context.Context) (int, error) { return 1, nil }
		for what, call := range map[string]func(){
			"accepted":           func() { _ = r.Do(ctx, throttle.Medium, accepted) },
			"accepted, a value":  func() { _, _ = retry.Do(ctx, r, throttle.Medium, value) },
			"accepted, an error": func() { _ = r.Do(ctx, throttle.Medium, wrong) },
		} {
			if got := testing.AllocsPerRun(1000, call); got != 0 {
				t.Errorf("%s, %s: got %v allocations want none", name, what, got)
			}
		}
		empty := throttle.Must(retry.New(c))
		if got := testing.AllocsPerRun(1000, func() { _ = empty.Do(ctx, throttle.Medium, full) }); got != 0 {
			t.Errorf("%s, budget empty: got %v allocations want none", name, got)
		}
	}
}
