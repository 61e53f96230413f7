package retry_test

import (
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestGroup_ARetrierLivesAsLongAsItsThrottle(t *testing.T) {
	t.Cleanup(func() { throttle.SetDefaultHooks(throttle.Hooks{}) })
	created := 0
	throttle.SetDefaultHooks(throttle.Hooks{Created: func(*throttle.Throttle) { created++ }})
	var closed []string
	g := throttle.Must(retry.NewGroup(retry.Config{Hooks: retry.Hooks{Closed: func(r *retry.Retrier) { closed = append(closed, r.Key()) }}}))
	throttles := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "tenants", Hooks: g.Hooks(throttle.Hooks{})}
	}, throttle.GroupConfig{Max: 2}))
	a, b := throttle.Must(throttles.Get("a")), throttle.Must(throttles.Get("b"))
	if ra, rb := g.Of(a), g.Of(b); ra == nil || rb == nil || ra == rb || ra.Key() != "a" || rb.Name() != "tenants" {
		t.Fatalf("got %v and %v want a Retrier for each", ra, rb)
	}
	accept(t, g.Of(a), 10)
	if g.Of(a).Stats().Left != 4 || g.Of(b).Stats().Left != 3 {
		t.Error("the budgets are not separate")
	}
	throttle.Must(throttles.Get("c")) // evicts one
	if n := len(slices.Collect(g.All())); n != 2 || len(closed) != 1 || created != 3 {
		t.Errorf("got %d Retriers, closed %q want 2 and one", n, closed)
	}
	_ = throttles.Close()
	if n := len(slices.Collect(g.All())); n != 0 || len(closed) != 3 || g.Of(a) != nil {
		t.Errorf("got %d Retriers, closed %q want none and three", n, closed)
	}
	if _, err := retry.NewGroup(retry.Config{Attempts: 99}); err == nil {
		t.Error("99 attempts: want an error")
	}
}

func TestNewGroup_announces(t *testing.T) {
	var names []string
	hooks := retry.Hooks{Announced: func(name string) { names = append(names, name) }}
	for _, c := range []retry.Config{{Name: "orders"}, {}, {Name: "wrong", Attempts: 99}} {
		c.Hooks = hooks
		_, _ = retry.NewGroup(c)
	}
	if !slices.Equal(names, []string{"orders"}) {
		t.Errorf("got %q want orders", names)
	}
}
