//go:build !race

// Under the race detector a sync.Pool throws away some of what it is given: allocations are counted without it.

package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// freeCall is a kind of call that should cost no memory.
type freeCall struct {
	name string
	call func()
}

// TestCallsAllocateNothing makes every kind of call, with hooks that count.
func TestCallsAllocateNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		c := breaker.Config{BreakerTimeout: time.Second, Hooks: breaker.Hooks{Shed: func(context.Context, breaker.ShedEvent) { refused++ }}}
		for _, mode := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow, throttle.ModeOff} {
			c.Mode = mode
			for _, f := range freeCalls(t, agent(t, c)) {
				f.call()
				if allocs := testing.AllocsPerRun(1000, f.call); allocs != 0 {
					t.Errorf("%s, mode %v: got %v allocations, want 0", f.name, mode, allocs)
				}
			}
		}
		if refused == 0 {
			t.Error("Hooks.Shed was not called")
		}
	})
}

// TestClassifyingAllocatesNothing fails in ways that take a look at the error for the mark of throttle.MarkRejected.
func TestClassifyingAllocatesNothing(t *testing.T) {
	none := func(context.Context, error) (throttle.Outcome, bool) { return 0, false }
	c := agent(t, breaker.Config{Classify: none}).Circuit(breaker.Key{ID: "k"})
	for _, err := range []error{errBoom, context.DeadlineExceeded, throttle.MarkRejected(errBoom)} {
		failure := func(context.Context) error { return err }
		if allocs := testing.AllocsPerRun(1000, func() { _ = c.Do(t.Context(), failure) }); allocs != 0 {
			t.Errorf("%v: got %v allocations, want 0", err, allocs)
		}
	}
}

// freeCalls returns the calls to a manager that it has put circuits into.
func freeCalls(t *testing.T, m *breaker.Manager) []freeCall {
	t.Helper()
	ctx := t.Context()
	keys := map[string]breaker.Key{}
	for _, name := range []string{"unknown", "closed", "open", "half-open", "disabled", "forced open"} {
		keys[name] = breaker.Key{Tenant: "tenant", ID: name}
	}
	for range 10 {
		_ = m.Circuit(keys["half-open"]).Do(ctx, failing)
	}
	sample(t, m)
	time.Sleep(2 * time.Second) // half-open, without a request for probes
	for range 10 {
		_ = m.Circuit(keys["open"]).Do(ctx, failing)
	}
	sample(t, m)
	for _, err := range []error{m.ForceClose(ctx, keys["closed"]), m.ForceOpen(ctx, keys["forced open"]), m.Disable(ctx, keys["disabled"])} {
		must(t, err)
	}
	var all []freeCall
	for name, k := range keys {
		handle := m.Circuit(k)
		all = append(all,
			freeCall{name + ", CanExecute", func() { _ = m.CanExecute(ctx, k) }},
			freeCall{name + ", handle", func() { _ = handle.CanExecute(ctx) }},
			freeCall{name + ", Run", func() { _ = handle.Do(ctx, succeeding) }},
			freeCall{name + ", failing Run", func() { _ = handle.Do(ctx, failing) }},
			freeCall{name + ", Do", func() { _, _ = breaker.Do(ctx, handle, func(context.Context) (int, error) { return 7, nil }) }},
			freeCall{name + ", Acquire and Done", func() {
				if p, err := handle.Acquire(ctx); err == nil {
					p.Done(nil)
				}
			}},
			freeCall{name + ", Acquire and Ignore", func() {
				if p, err := handle.Acquire(ctx); err == nil {
					p.Finish(throttle.Ignored)
				}
			}},
			freeCall{name + ", Status", func() { _ = m.Status(k) }},
			freeCall{name + ", Status by the handle", func() { _ = handle.Status() }},
		)
	}
	return all
}
