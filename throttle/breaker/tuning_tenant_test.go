package breaker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

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
		if got, want := state(), "open closed open open open open open"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
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
		if got, want := state(), "half_open open open open half_open open half_open"; got != want {
			t.Errorf("after 15 s: got %s, want %s", got, want)
		}
		wants(t, m.CanExecute(t.Context(), breaker.Key{Tenant: "shadow", ID: "k"}), nil, "shadow")
		wants(t, m.CanExecute(t.Context(), breaker.Key{Tenant: "slow", ID: "k"}), breaker.ErrOpen, "slow")
		if got := m.Stats().Calls[breaker.HalfOpen].ShadowShed; got == 0 {
			t.Error("no call was counted as shed in shadow")
		}
	})
}
