package breaker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// asked are all methods that take a context.
func asked(ctx context.Context, m *breaker.Manager, c *breaker.Circuit, k breaker.Key) map[string]func() error {
	return map[string]func() error{
		"CanExecute":         func() error { return m.CanExecute(ctx, k) },
		"Sample":             func() error { return m.Sample(ctx) },
		"Refresh":            func() error { return m.Refresh(ctx) },
		"ForceOpen":          func() error { return m.ForceOpen(ctx, k) },
		"ForceClose":         func() error { return m.ForceClose(ctx, k) },
		"Disable":            func() error { return m.Disable(ctx, k) },
		"Enable":             func() error { return m.Enable(ctx, k) },
		"Forget":             func() error { return m.Forget(ctx, k) },
		"Circuit.CanExecute": func() error { return c.CanExecute(ctx) },
		"Circuit.Run":        func() error { return c.Run(ctx, succeeding) },
		"Do": func() error {
			_, err := breaker.Do(ctx, c, func(context.Context) (int, error) { return 7, nil })
			return err
		},
		"Circuit.Acquire":      func() error { p, err := c.Acquire(ctx); p.Done(errBoom); return err },
		"Circuit of a circuit": func() error { return m.Circuit(c.Key()).Run(ctx, succeeding) },
	}
}

// TestANilContextIsTheBackground also for hooks, for the function of a call, and for Classify.
func TestANilContextIsTheBackground(t *testing.T) {
	var none context.Context
	sound := func(ctx context.Context, what string) {
		if ctx == nil {
			t.Errorf("%s: got a nil context", what)
		}
	}
	m := agent(t, breaker.Config{
		Hooks: breaker.Hooks{Shed: func(ctx context.Context, _ breaker.ShedEvent) { sound(ctx, "the hook") }},
		Classify: func(ctx context.Context, _ error) (throttle.Outcome, bool) {
			sound(ctx, "Classify")
			return throttle.Accepted, true
		},
	})
	k := breaker.Key{ID: "k"}
	for name, ask := range asked(none, m, m.Circuit(breaker.Key{ID: "other"}), k) {
		if name == "CanExecute" {
			continue // others move the circuit that it asks about
		}
		if err := ask(); err != nil {
			t.Errorf("%s: got %v want nil", name, err)
		}
	}
	if err := m.Circuit(breaker.Key{ID: "fails"}).Run(none, func(ctx context.Context) error { sound(ctx, "the function"); return errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("got %v want %v", err, errBoom)
	}
	if err := m.Disable(none, k); err != nil {
		t.Fatal(err)
	}
	if err := m.CanExecute(none, k); !errors.Is(err, breaker.ErrDisabled) {
		t.Errorf("got %v want ErrDisabled", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(none) }()
	_ = m.Close()
	if err := <-ended; err != nil && !errors.Is(err, breaker.ErrManagerClosed) {
		t.Errorf("Run: got %v want nil, or ErrManagerClosed", err)
	}
}

// TestWhatDidNotComeFromNewAnswersWithAnError: it neither panics nor lets calls through untold.
func TestWhatDidNotComeFromNewAnswersWithAnError(t *testing.T) {
	k := breaker.Key{ID: "k"}
	for name, m := range map[string]*breaker.Manager{"nil": nil, "zero": {}} {
		for whose, c := range map[string]*breaker.Circuit{"a nil Circuit": nil, "a zero one": {}, "its own": m.Circuit(k)} {
			for what, ask := range asked(t.Context(), m, c, k) {
				if err := ask(); err == nil || errors.Is(err, throttle.ErrShed) {
					t.Errorf("%s Manager, %s: %s: got %v want an error that is no shed", name, whose, what, err)
				}
			}
			if got := c.Status(); got != (breaker.Status{Key: c.Key()}) {
				t.Errorf("%s Manager, %s: Status: got %+v want nothing", name, whose, got)
			}
		}
		if err := m.Run(t.Context()); err == nil {
			t.Errorf("%s Manager: Run: got nil want an error", name)
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s Manager: Close: got %v want nil", name, err)
		}
		if m.Name() != "" || len(m.List()) != 0 || m.Stats() != (breaker.Stats{}) || m.Status(k) != (breaker.Status{Key: k}) {
			t.Errorf("%s Manager: got %q, %v, %+v, %+v want nothing", name, m.Name(), m.List(), m.Stats(), m.Status(k))
		}
	}
}
