package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// state names the series of the throttles of the name db with a reason for an alert.
func state(alert throttle.AlertReason) string {
	return series(semconv.MetricPolicyState, "throttle.name", "db", "throttle.policy.alert", alert.String())
}

// alertReasons returns every reason of an alert, NoAlert first.
func alertReasons() (all []throttle.AlertReason) {
	for r := throttle.NoAlert; ; r++ {
		if _, err := r.MarshalText(); err != nil {
			return all
		}
		all = append(all, r)
	}
}

// TestPolicyMetrics has two throttles of a name, of which one begins an alert, and one with SRE.
func TestPolicyMetrics(t *testing.T) {
	l := newLab(t, setup{})
	calm := l.throttle(t, throttle.Config{Name: "db", Background: 0.2})
	busy := l.throttle(t, throttle.Config{Name: "db"})
	_ = l.throttle(t, throttle.Config{Name: "db", Policy: throttle.SRE})
	background := series(semconv.MetricPolicyBackground, "throttle.name", "db")
	want := snapshot{background: 0.2}
	for _, r := range alertReasons() {
		want[state(r)] = 0
	}
	want[state(throttle.NoAlert)] = 2
	check := func(moment string) {
		t.Helper()
		got := l.read(t)
		for key, value := range want {
			equal(t, moment+": "+key, got[key], value)
		}
	}
	check("before any call")
	l.reject(t, busy, throttle.Low, 60)
	want[state(throttle.NoAlert)], want[state(throttle.RatioAlert)] = 1, 1
	check("in alert")
	l.advance(time.Minute)
	want[state(throttle.NoAlert)], want[state(throttle.RatioAlert)] = 2, 0
	check("after a pause")
	_ = calm.Close()
	want[state(throttle.NoAlert)], want[background] = 1, 0
	check("after one is closed")
	_ = busy.Close()
	got := l.read(t)
	if _, found := got[background]; found {
		t.Errorf("without Tiered: got %v want no series of the policy", got[background])
	}
}

// TestPolicyEvent is on the span of the call that begins the alert.
func TestPolicyEvent(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Background: 0.1})
	ctx, request := l.request(t.Context())
	for range 60 {
		_ = th.Do(ctx, throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
	}
	request.End()
	found := 0
	for _, span := range l.spans.Ended() {
		for _, e := range span.Events() {
			if e.Name == "throttle.policy.changed" {
				found++
				wantAttributes(t, "event", e.Attributes, "throttle.name", "db", "throttle.policy.alert", "ratio", "throttle.policy.background", 0.1)
			}
		}
	}
	equal(t, "events", found, 1)
}
