package otelthrottle_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestTelemetryThatNobodyMade tells nothing, and harms nobody who has its hooks.
func TestTelemetryThatNobodyMade(t *testing.T) {
	for name, tel := range map[string]*otelthrottle.Telemetry{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
			if err := th.Do(t.Context(), throttle.High, succeed); err != nil {
				t.Errorf("Do: got error %v want nil", err)
			}
			m := throttle.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: tel.BreakerHooks()}))
			disable(t, m, breaker.Key{ID: "a"})
			refuse(t.Context(), t, m, breaker.Key{ID: "a"})
			limiter := throttle.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.Every(time.Hour), Hooks: tel.BucketHooks()}))
			equal(t, "granted", take(t.Context(), t, limiter, 2), 1)
			slow := throttle.Must(backoff.New(backoff.Config{Name: "table", Hooks: tel.BackoffHooks()}))
			everyOutcome(t, slow)
			for what, err := range map[string]error{
				"Close of a throttle": th.Close(), "Close of a breaker": m.Close(), "Close of a limiter": limiter.Close(),
				"Close of a backoff": slow.Close(), "Shutdown": tel.Shutdown(t.Context()), "second Shutdown": tel.Shutdown(t.Context()),
			} {
				if err != nil {
					t.Errorf("%s: got error %v want nil", what, err)
				}
			}
		})
	}
}
