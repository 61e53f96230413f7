package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestSampleReplacesRun: after a round by hand there is none until the next one.
func TestSampleReplacesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := agent(t, breaker.Config{})
		sample(t, m)
		c := m.Circuit(breaker.Key{ID: "k"})
		fails(t, m, breaker.Key{ID: "k"}, 10)
		time.Sleep(30 * time.Second)
		if s := c.Status(); s.State != breaker.Closed || m.Stats().Running {
			t.Errorf("got %v, running %v, want closed and false", s.State, m.Stats().Running)
		}
		sample(t, m)
		if s := c.Status(); s.State != breaker.Open || m.Stats().Running {
			t.Errorf("after a round by hand: got %v, running %v, want open and false", s.State, m.Stats().Running)
		}
	})
}

// TestRunEndsWhateverTheStoreDoes ends Run while a call to the store hangs and does not look at its
// context. Calls do not wait for the store.
func TestRunEndsWhateverTheStoreDoes(t *testing.T) {
	for _, op := range []string{"Campaign", "Resign", "Versions", "Load", "Apply", "Probe", "Watch"} {
		bubble(t, op, func(t *testing.T) {
			var ice fault
			defer ice.thaw()
			hang := only(func(ctx context.Context) error { return ice.meddle(ctx, op) }, op)
			store, k := &watched{meddler: newMeddler(breaker.NewMemoryStore())}, breaker.Key{ID: "a"}
			store.before = hang
			store.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return hang(ctx, "Watch") }
			m := agent(t, breaker.Config{Store: store, BreakerTimeout: time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan time.Time, 1)
			go func() { _ = m.Run(ctx); ended <- time.Now() }()
			time.Sleep(time.Second)
			fails(t, m, k, 20)
			ice.frozen.Store(true)
			time.Sleep(8 * time.Second)
			begun := time.Now()
			if err := m.CanExecute(ctx, k); time.Since(begun) != 0 {
				t.Errorf("got %v after %v, want a call that does not wait", err, time.Since(begun))
			}
			cancel()
			time.Sleep(time.Second)
			select {
			case end := <-ended:
				if took := end.Sub(begun); took > 500*time.Millisecond {
					t.Errorf("Run ended %v after its context, want within twice StoreTimeout", took)
				}
			default:
				t.Error("Run has not ended a second after its context, want it within twice StoreTimeout")
			}
		})
	}
}

// TestRunCanRunAgain ends and runs a manager several times: it leads at once, because Run resigns at its end.
func TestRunCanRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := breaker.NewMemoryStore()
		m := agent(t, breaker.Config{Store: store})
		var last uint64
		for range 5 {
			stop := running(t, m)
			time.Sleep(time.Second)
			s := m.Stats()
			if !s.Running || !s.Leads || s.Term <= last {
				t.Errorf("got running %v, leads %v, term %d, want true, true and more than %d", s.Running, s.Leads, s.Term, last)
			}
			last = s.Term
			stop()
			if s := m.Stats(); s.Running || s.Leads {
				t.Errorf("after Run has ended: got running %v, leads %v, want false", s.Running, s.Leads)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestAClosedManager(t *testing.T) {
	m, k := agent(t, breaker.Config{}), breaker.Key{ID: "k"}
	must(t, m.Disable(t.Context(), k))
	for range 2 {
		must(t, m.Close())
	}
	wants(t, m.CanExecute(t.Context(), k), breaker.ErrDisabled, "CanExecute")
	for name, err := range map[string]error{
		"Run": m.Run(t.Context()), "Sample": m.Sample(t.Context()), "Enable": m.Enable(t.Context(), k), "Forget": m.Forget(t.Context(), k),
	} {
		if !errors.Is(err, breaker.ErrManagerClosed) {
			t.Errorf("%s: %v, want ErrManagerClosed", name, err)
		}
	}
}

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
		"Circuit.Run":        func() error { return c.Do(ctx, succeeding) },
		"Do": func() error {
			_, err := breaker.Do(ctx, c, func(context.Context) (int, error) { return 7, nil })
			return err
		},
		"Circuit.Acquire":      func() error { p, err := c.Acquire(ctx); p.Done(errBoom); return err },
		"Circuit of a circuit": func() error { return m.Circuit(c.Key()).Do(ctx, succeeding) },
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
		if name != "CanExecute" { // others move the circuit that it asks about
			wants(t, ask(), nil, "%s", name)
		}
	}
	if err := m.Circuit(breaker.Key{ID: "fails"}).Do(none, func(ctx context.Context) error { sound(ctx, "the function"); return errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("got %v want %v", err, errBoom)
	}
	must(t, m.Disable(none, k))
	wants(t, m.CanExecute(none, k), breaker.ErrDisabled, "disabled, with a nil context")
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
