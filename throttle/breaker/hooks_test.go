package breaker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
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
	equals(t, m.Stats().Calls[breaker.Disabled].Shed, 2, "shed")
	if !panics(func() { _ = m.Close() }) || panics(func() { _ = m.Close() }) {
		t.Error("Closed: got no panic of the first Close, or one of the second, want it to go up once")
	}
	if !panics(func() {
		_, _ = breaker.New(breaker.Config{Name: "x", Hooks: breaker.Hooks{Created: func(*breaker.Manager) { panic("hook") }}})
	}) {
		t.Error("Created: got no panic, want it to go up")
	}
	equals(t, m.Stats().Errors.Of(breaker.HookPanicked), 0, "counted")
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

// TestAHookEndsItsGoroutine, which ends neither the rounds without Run nor the leadership in Run.
func TestAHookEndsItsGoroutine(t *testing.T) {
	goexit := breaker.Hooks{
		Changed: func(breaker.Event) { runtime.Goexit() },
		Led:     func(breaker.LeadEvent) { runtime.Goexit() },
		Failed:  func(breaker.FailureEvent) { runtime.Goexit() },
	}
	for name, c := range map[string]breaker.Config{
		"hooks": {Hooks: goexit}, "ForTenant": {ForTenant: func(string, breaker.Config) breaker.Config { runtime.Goexit(); return breaker.Config{} }},
	} {
		for _, runs := range []bool{false, true} {
			bubble(t, fmt.Sprint(name, ", runs ", runs), func(t *testing.T) {
				k, polled := breaker.Key{ID: "k"}, atomic.Int64{}
				c.Poll = polls(func() results { polled.Add(1); return results{k: {Failures: 20}} })
				m := agent(t, c)
				defer m.Close()
				if runs {
					defer running(t, m)()
				}
				for range 10 {
					_ = m.CanExecute(t.Context(), k)
					time.Sleep(5*time.Second + 1)
				}
				if s := m.Stats(); polled.Load() < 9 || !s.Leads || s.Errors == (breaker.ErrorCounts{}) || m.Status(k).State == breaker.Closed {
					t.Errorf("got %d rounds, leads %v, errors %v, circuit %v", polled.Load(), s.Leads, s.Errors, m.Status(k).State)
				}
			})
		}
	}
}

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[breaker.Hooks]{
		Join: breaker.JoinHooks, Set: breaker.SetDefaultHooks, Get: breaker.DefaultHooks,
		Create: func(h breaker.Hooks) { _ = agent(t, breaker.Config{Hooks: h}).Close() },
	}.Check(t)
}

func TestEventsAreOneShortLine(t *testing.T) {
	m := agent(t, breaker.Config{Name: "hooks"})
	defer m.Close()
	k, long := breaker.Key{Tenant: "acme", ID: "k"}, breaker.Key{ID: strings.Repeat("x", 1<<20)}
	for event, want := range map[fmt.Stringer]string{
		breaker.ShedEvent{Manager: m, Key: k, State: breaker.Open}:                                                                         `breaker hooks shed a call of "acme"/"k": open`,
		breaker.ShedEvent{Manager: m, Key: k, State: breaker.Open, Shadow: true}:                                                           `breaker hooks shed a call of "acme"/"k": open, shadow`,
		breaker.Event{Breaker: "hooks", Key: k, From: breaker.Closed, To: breaker.Open, Reason: breaker.ReasonFailing}:                     `breaker hooks: circuit "acme"/"k": closed -> open (failing)`,
		breaker.Event{Breaker: "hooks", Key: long, From: breaker.Open, To: breaker.HalfOpen, Reason: breaker.ReasonTimeOver, Shadow: true}: `breaker hooks: circuit "` + strings.Repeat("x", 64) + `"... (1048576 bytes): open -> half_open (time_over), shadow`,
		breaker.LeadEvent{Manager: m, Leads: true, Term: 7}:                                                                                "breaker hooks leads, term 7",
		breaker.LeadEvent{Manager: m, Term: 7}:                                                                                             "breaker hooks no longer leads, term 7",
		breaker.FailureEvent{Manager: m, Failure: breaker.PollFailed, Err: errBoom}:                                                        "breaker hooks: background task failed (poll): boom",
	} {
		equals(t, event.String(), want, "String")
	}
}

func TestLogValues(t *testing.T) {
	m, k := agent(t, breaker.Config{Name: "hooks"}), breaker.Key{Tenant: "acme", ID: "k"}
	defer m.Close()
	must(t, m.Disable(t.Context(), k))
	var shed *breaker.ShedError
	if err := m.CanExecute(t.Context(), k); !errors.As(err, &shed) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	logger.Info("shed", "err", shed, "key", breaker.Key{ID: strings.Repeat("x", 300)})
	want := `err.breaker=hooks err.key.tenant=acme err.key.id=k err.state=disabled err.reason="breaker: circuit is disabled" key.id="` +
		strings.Repeat("x", 256) + `... (300 bytes)"`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %swant %s", out.String(), want)
	}
	_ = (&breaker.ShedError{}).LogValue() // of a user's test
}
