package otelthrottle_test

import (
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestHooksThatAreJoinedTwiceCountOnce of whatever kind, and let go of what is closed.
func TestHooksThatAreJoinedTwiceCountOnce(t *testing.T) {
	tests := []struct {
		name  string
		calls func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error }
		want  string
	}{
		{"throttle", func(_ *testing.T, _ *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			same := tel.Hooks()
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: throttle.JoinHooks(same, same)}))
			times(1, th, throttle.High, nil)
			return th
		}, accepted(throttle.High)},
		{"throttle, hooks made twice", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			th := l.throttle(t, throttle.Config{Name: "db", Hooks: tel.Hooks()})
			times(1, th, throttle.High, nil)
			return th
		}, accepted(throttle.High)},
		{"breaker", func(t *testing.T, _ *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			m := throttle.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: breaker.JoinHooks(tel.BreakerHooks(), tel.BreakerHooks())}))
			admit(t, m, breaker.Key{ID: "a"})
			return m
		}, decided("admitted", breaker.Closed)},
		{"bucket", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			limiter := l.limiter(t, bucket.Config{Hooks: tel.BucketHooks()})
			take(t.Context(), t, limiter, 1)
			return limiter
		}, requests(otelthrottle.ResultGranted)},
		{"backoff", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			r := l.backoff(t, backoff.Config{Hooks: tel.BackoffHooks()})
			end(t.Context(), t, r, backoff.Success)
			return r
		}, ended("success")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithoutDuration()}})
			first := tt.calls(t, l, l.tel)
			equal(t, tt.want, l.read(t)[tt.want], 1)
			second := tt.calls(t, l, l.tel)
			equal(t, tt.want+", of two", l.read(t)[tt.want], 2)
			_ = first.Close()
			equal(t, tt.want+", one closed", l.read(t)[tt.want], 2)
			_ = second.Close()
			l.read(t).want(t, snapshot{})
		})
	}
}
