package breaker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestSampleReplacesRun: after a round by hand there is none until the next one.
func TestSampleReplacesRun(t *testing.T) {
	k := breaker.Key{ID: "k"}
	play(t, scenario{
		name: "memory store", memory: true,
		steps: steps(sampled, fail(10, k), wait(30*time.Second), is(breaker.Closed, 0, k), sampled, is(breaker.Open, 1, k),
			shows("does not run", func(s breaker.Stats) bool { return !s.Running })),
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
	last := uint64(0)
	again := func(s breaker.Stats) bool {
		defer func() { last = s.Term }()
		return s.Running && s.Leads && s.Term > last
	}
	play(t, scenario{
		name: "memory store", memory: true,
		steps: steps(times(5, runs, wait(time.Second), shows("runs and leads with a higher term", again), stopped,
			shows("has ended", func(s breaker.Stats) bool { return !s.Running && !s.Leads }), wait(time.Millisecond))),
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
		wants(t, err, breaker.ErrManagerClosed, "%s", name)
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
	wants(t, m.Circuit(breaker.Key{ID: "fails"}).Do(none, func(ctx context.Context) error { sound(ctx, "the function"); return errBoom }), errBoom, "Do")
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
			equals(t, c.Status(), (breaker.Status{Key: c.Key()}), "%s Manager, %s: Status", name, whose)
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
