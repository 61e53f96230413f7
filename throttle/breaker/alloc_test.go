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

// raceEnabled says that the race detector is watching.
const raceEnabled = false

// TestCallsAllocateNothing makes every kind of call to every kind of circuit, with hooks that count.
// The open circuit is half-open in the end.
func TestCallsAllocateNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, store := 0, breaker.NewMemoryStore()
		keys := circuitsByHand(t, store)
		c := breaker.Config{Store: store, Hooks: breaker.Hooks{Shed: func(context.Context, breaker.ShedEvent) { refused++ }}}
		for _, wait := range []time.Duration{0, 11 * time.Minute} {
			time.Sleep(wait)
			for _, c.Mode = range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow, throttle.ModeOff} {
				m := agent(t, c)
				must(t, m.Refresh(t.Context()))
				for kind, k := range keys {
					for name, call := range freeCalls(t.Context(), m, k) {
						call()
						equals(t, testing.AllocsPerRun(1000, call), 0, "%s of a circuit that is %s, mode %v: allocations", name, kind, c.Mode)
					}
				}
				_ = m.Close()
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
		equals(t, testing.AllocsPerRun(1000, func() { _ = c.Do(t.Context(), failure) }), 0, "%v: allocations", err)
	}
}

// freeCalls returns the calls to a circuit that should allocate nothing.
func freeCalls(ctx context.Context, m *breaker.Manager, k breaker.Key) map[string]func() {
	handle := m.Circuit(k)
	return map[string]func(){
		"Manager.CanExecute": func() { _ = m.CanExecute(ctx, k) },
		"CanExecute":         func() { _ = handle.CanExecute(ctx) },
		"Do":                 func() { _ = handle.Do(ctx, succeeding) },
		"failing Do":         func() { _ = handle.Do(ctx, failing) },
		"Do with a value":    func() { _, _ = breaker.Do(ctx, handle, func(context.Context) (int, error) { return 7, nil }) },
		"Acquire and Done": func() {
			if p, err := handle.Acquire(ctx); err == nil {
				p.Done(nil)
			}
		},
		"Acquire and Finish": func() {
			if p, err := handle.Acquire(ctx); err == nil {
				p.Finish(throttle.Ignored)
			}
		},
		"Manager.Status": func() { _ = m.Status(k) },
		"Status":         func() { _ = handle.Status() },
	}
}
