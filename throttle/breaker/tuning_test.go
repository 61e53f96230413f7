package breaker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestTune_modes of an open circuit, with the modes of tenants and without. An override replaces all of them.
func TestTune_modes(t *testing.T) {
	for _, tt := range []struct {
		name       string
		tenant     throttle.Mode
		forTenant  bool
		code, over throttle.Mode
		overridden bool
		err        error
	}{
		{"enforce", 0, false, throttle.ModeEnforce, 0, false, breaker.ErrOpen},
		{"shadow", 0, false, throttle.ModeShadow, 0, false, nil},
		{"off", 0, false, throttle.ModeOff, 0, false, nil},
		{"overridden with off", 0, false, throttle.ModeEnforce, throttle.ModeOff, true, nil},
		{"overridden with enforce", 0, false, throttle.ModeOff, throttle.ModeEnforce, true, breaker.ErrOpen},
		{"tenant in force", throttle.ModeEnforce, true, throttle.ModeOff, 0, false, breaker.ErrOpen},
		{"tenant overridden", throttle.ModeEnforce, true, throttle.ModeEnforce, throttle.ModeOff, true, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := breaker.Config{}
			if tt.forTenant {
				c.ForTenant = func(_ string, c breaker.Config) breaker.Config { c.Mode = tt.tenant; return c }
			}
			m, k := agent(t, c), breaker.Key{ID: "k"}
			defer m.Close()
			must(t, m.ForceOpen(t.Context(), k))
			must(t, m.Tune(breaker.Patch{Mode: &tt.code}))
			if tt.overridden {
				must(t, m.Override(throttle.SourceHTTP, breaker.Patch{Mode: &tt.over}))
			}
			wants(t, m.CanExecute(t.Context(), k), tt.err, "%s", tt.name)
			now, code := m.Tuning()
			if code.Mode != tt.code || tt.overridden && now.Mode != tt.over || m.Stats().Mode != now.Mode {
				t.Errorf("%s: got %v in force and %v of the code", tt.name, now, code)
			}
			must(t, m.Override(throttle.SourceHTTP, breaker.Patch{}))
			now, code = m.Tuning()
			equals(t, now, code, "%s: after the override", tt.name)
		})
	}
}

func TestTune_refusesInvalid(t *testing.T) {
	m, none := agent(t, breaker.Config{}), (*breaker.Manager)(nil)
	defer m.Close()
	wrong := breaker.Patch{Mode: new(throttle.Mode(7))}
	for _, err := range []error{m.Tune(wrong), m.Override(throttle.SourceFile, wrong), wrong.Validate()} {
		if err == nil || !strings.Contains(err.Error(), "breaker: Patch.Mode is 7: want ModeEnforce, ModeShadow or ModeOff") {
			t.Errorf("got %v", err)
		}
	}
	now, code := none.Tuning()
	for _, err := range []error{m.Override(throttle.SourceCode, breaker.Patch{}), none.Tune(breaker.Patch{}), none.Override(throttle.SourceFile, breaker.Patch{})} {
		if err == nil || now != code {
			t.Error("got no error")
		}
	}
}

// TestTenantsHaveSettingsOfTheirOwn, live: they are asked for in every round.
func TestTenantsHaveSettingsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patient := 100
		var failures []breaker.FailureEvent
		c := breaker.Config{BreakerTimeout: 10 * time.Second}
		c.Hooks.Failed = func(e breaker.FailureEvent) { failures = append(failures, e) }
		c.ForTenant = func(tenant string, c breaker.Config) breaker.Config {
			switch tenant {
			case "patient":
				c.MinimumRequestCount = patient
			case "slow":
				c.BreakerTimeout = time.Hour // MaxBreakerTimeout follows
			case "shadow":
				c.Mode = throttle.ModeShadow
			case "odd":
				c.SuccessThreshold = 1
			case "zero":
				return breaker.Config{}
			case "wild":
				panic("boom")
			}
			c.Name, c.SampleRate = "ignored", time.Nanosecond
			return c
		}
		m := agent(t, c)
		tenants := []string{"", "patient", "slow", "shadow", "odd", "zero", "wild"}
		round := func() {
			for _, tenant := range tenants {
				for range 10 {
					_ = m.Circuit(breaker.Key{Tenant: tenant, ID: "k"}).Do(t.Context(), failing)
				}
			}
			sample(t, m)
		}
		state := func() string {
			var words []string
			for _, tenant := range tenants {
				words = append(words, m.Status(breaker.Key{Tenant: tenant, ID: "k"}).State.String())
			}
			return strings.Join(words, " ")
		}
		round()
		equals(t, state(), "open closed open open open open open", "at first")
		for _, f := range failures {
			if f.Failure != breaker.SettingsInvalid || !strings.Contains(f.Err.Error(), "SuccessThreshold") && !strings.Contains(f.Err.Error(), "boom") {
				t.Errorf("failure %v: %v", f.Failure, f.Err)
			}
		}
		if len(failures) == 0 {
			t.Error("invalid settings were not reported")
		}
		patient = 10
		time.Sleep(15 * time.Second)
		round()
		// In the shadow calls go on, and fail; zero is the default of 30 s, not the manager's.
		equals(t, state(), "half_open open open open half_open open half_open", "after 15 s")
		wants(t, m.CanExecute(t.Context(), breaker.Key{Tenant: "shadow", ID: "k"}), nil, "shadow")
		wants(t, m.CanExecute(t.Context(), breaker.Key{Tenant: "slow", ID: "k"}), breaker.ErrOpen, "slow")
		if got := m.Stats().Calls[breaker.HalfOpen].ShadowShed; got == 0 {
			t.Error("no call was counted as shed in shadow")
		}
	})
}

// TestTune_offAndBack keeps what a circuit with a past has counted.
func TestTune_offAndBack(t *testing.T) {
	k := breaker.Key{ID: "k"}
	tuned := func(mode throttle.Mode) step {
		return func(s *scene) { must(s, s.actor().Tune(breaker.Patch{Mode: &mode})) }
	}
	play(t, scenario{
		name: "a closed circuit", steps: steps(disable(k), enable(k), fail(5, k), tuned(throttle.ModeOff), fail(4, k), tuned(throttle.ModeEnforce), fail(1, k), sampled, is(breaker.Open, 1, k)),
	}, scenario{
		name: "a circuit that was enabled meanwhile", steps: steps(disable(k), tuned(throttle.ModeOff), fail(9, k), enable(k), tuned(throttle.ModeEnforce), fail(1, k), sampled, is(breaker.Closed, 0, k)),
	})
}

// TestTune_enforceAfterShadow fails in ModeEnforce what has recovered in ModeShadow: it opens at once. What has opened in
// ModeEnforce is known to it also if its timeout has ended in ModeShadow.
func TestTune_enforceAfterShadow(t *testing.T) {
	k := breaker.Key{ID: "k"}
	tuned := func(mode throttle.Mode) step {
		return func(s *scene) { must(s, s.actor().Tune(breaker.Patch{Mode: &mode})) }
	}
	play(t, scenario{
		name: "a closed circuit", config: breaker.Config{Mode: throttle.ModeShadow, ObservabilityWindow: 10 * time.Minute},
		steps: steps(fail(10, k), sampled, is(breaker.Open, 1, k), wait(31*time.Second), times(30, func(s *scene) {
			must(s, s.actor().Circuit(k).Do(s.Context(), succeeding))
		}), sampled, is(breaker.Closed, 1, k), tuned(throttle.ModeEnforce),
			is(breaker.Closed, 0, k), fail(20, k), sampled, is(breaker.Open, 1, k), sheds(breaker.ErrOpen, k)),
	}, scenario{
		name: "a half-open circuit",
		steps: steps(fail(10, k), sampled, is(breaker.Open, 1, k), tuned(throttle.ModeShadow), wait(31*time.Second), sampled, is(breaker.HalfOpen, 1, k),
			tuned(throttle.ModeEnforce), sampled, is(breaker.HalfOpen, 1, k)),
	})
}
