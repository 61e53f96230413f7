package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// panics reports whether f panics with "hook".
func panics(f func()) (yes bool) {
	defer func() { yes = recover() == "hook" }()
	f()
	return false
}

// TestAPanicOfAHookOfACallerGoesUp, and leaves the manager as it should be.
func TestAPanicOfAHookOfACallerGoesUp(t *testing.T) {
	k := breaker.Key{ID: "k"}
	m := agent(t, breaker.Config{Hooks: breaker.Hooks{
		Closed: func(*breaker.Manager) { panic("hook") },
		Shed:   func(context.Context, breaker.ShedEvent) { panic("hook") },
	}})
	must(t, m.Disable(t.Context(), k))
	if !panics(func() { _ = m.CanExecute(t.Context(), k) }) || !panics(func() { _ = m.Circuit(k).Do(t.Context(), succeeding) }) {
		t.Error("Shed: got no panic, want it to go up")
	}
	if got := m.Stats().Calls[breaker.Disabled].Shed; got != 2 {
		t.Errorf("shed: got %d want 2", got)
	}
	if !panics(func() { _ = m.Close() }) || panics(func() { _ = m.Close() }) {
		t.Error("Closed: got no panic of the first Close, or one of the second, want it to go up once")
	}
	if !panics(func() {
		_, _ = breaker.New(breaker.Config{Name: "x", Hooks: breaker.Hooks{Created: func(*breaker.Manager) { panic("hook") }}})
	}) {
		t.Error("Created: got no panic, want it to go up")
	}
	if got := m.Stats().Errors.Of(breaker.HookPanicked); got != 0 {
		t.Errorf("counted: got %d want 0", got)
	}
}

// TestAPanicOfAnotherHookIsCounted, and the change stays: also on the goroutine of a change by hand.
func TestAPanicOfAnotherHookIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := breaker.Key{ID: "k"}
		failed := map[breaker.Failure]int{}
		m := agent(t, breaker.Config{Hooks: breaker.Hooks{
			Changed: func(breaker.Event) { panic("hook") },
			Led:     func(breaker.LeadEvent) { panic("hook") },
			Failed: func(e breaker.FailureEvent) {
				failed[e.Failure]++
				panic("hook")
			},
		}})
		if err := m.ForceOpen(t.Context(), k); err != nil || m.Status(k).State != breaker.Open {
			t.Errorf("ForceOpen: got %v, and %v want nil, and open", err, m.Status(k).State)
		}
		if got := m.Stats().Errors.Of(breaker.HookPanicked); got != 1 || failed[breaker.HookPanicked] != 1 {
			t.Errorf("Changed: got %d counted, %d failed want 1 and 1", got, failed[breaker.HookPanicked])
		}
		stop := running(t, m)
		time.Sleep(time.Second)
		if s := m.Stats(); !s.Leads || s.Errors.Of(breaker.HookPanicked) != 2 {
			t.Errorf("Led: got leads %v, %d counted want true and 2", s.Leads, s.Errors.Of(breaker.HookPanicked))
		}
		stop()
	})
}
