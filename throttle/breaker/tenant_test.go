package breaker_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
				c.DryRun = true
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
		agents, _ := fleet(t, 1, c)
		m := agents[0]
		tenants := []string{"", "patient", "slow", "shadow", "odd", "zero", "wild"}
		round := func() {
			for _, tenant := range tenants {
				for range 10 {
					_ = m.Circuit(breaker.Key{Tenant: tenant, ID: "k"}).Run(t.Context(), failing)
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
			t.Error("nobody was told of bad settings")
		}
		patient = 10
		time.Sleep(15 * time.Second)
		round()
		// In the shadow calls go on, and fail; zero is the default of 30 s, not the manager's.
		if got, want := state(), "half_open open open open half_open open half_open"; got != want {
			t.Errorf("after 15 s: got %s, want %s", got, want)
		}
		if err := m.CanExecute(t.Context(), breaker.Key{Tenant: "shadow", ID: "k"}); err != nil {
			t.Errorf("DryRun: %v", err)
		}
		if err := m.CanExecute(t.Context(), breaker.Key{Tenant: "slow", ID: "k"}); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("slow: %v", err)
		}
		if got := m.Stats().Calls[breaker.HalfOpen].ShadowShed; got == 0 {
			t.Error("no call was counted as shed in shadow")
		}
	})
}

// TestFault20TenantsShareEverything has a tenant with settings that are refused and one who panics: nobody else notices.
func TestFault20TenantsShareEverything(t *testing.T) {
	var mu sync.Mutex
	told := 0
	c := breaker.Config{
		ConsecutiveFailureThreshold: 1,
		ForTenant: func(tenant string, c breaker.Config) breaker.Config {
			switch tenant {
			case "patient":
				c.MinimumRequestCount = 1000
			case "mad":
				c.FailureThreshold = -1
			case "bad":
				panic("no such tenant")
			}
			return c
		},
		Hooks: breaker.Hooks{Failed: func(e breaker.FailureEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Failure == breaker.SettingsInvalid {
				told++
			}
		}},
	}
	m := agent(t, c)
	for _, tenant := range []string{"", "patient", "mad", "bad"} {
		for range 20 {
			_ = m.Circuit(breaker.Key{Tenant: tenant, ID: "a"}).Run(t.Context(), failing)
		}
	}
	sample(t, m)
	for tenant, want := range map[string]breaker.State{
		"": breaker.Disabled, "patient": breaker.Closed, "mad": breaker.Disabled, "bad": breaker.Disabled, "quiet": breaker.Closed,
	} {
		if s := m.Status(breaker.Key{Tenant: tenant, ID: "a"}).State; s != want {
			t.Errorf("tenant %q: got state %v, want %v", tenant, s, want)
		}
	}
	if told == 0 {
		t.Error("got no word of settings that are refused, want some")
	}
}
