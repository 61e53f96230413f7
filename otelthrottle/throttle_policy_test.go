package otelthrottle_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// alertReasons returns every reason of an alert, NoAlert first.
func alertReasons() (all []throttle.AlertReason) {
	for r := throttle.NoAlert; ; r++ {
		if _, err := r.MarshalText(); err != nil {
			return all
		}
		all = append(all, r)
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
