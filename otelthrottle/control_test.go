package otelthrottle_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// newControl returns a Control that tel reports.
func newControl(t testing.TB, l *lab) *control.Control {
	t.Helper()
	c := throttle.Must(control.New(control.Config{Hooks: l.tel.ControlHooks()}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// everyTuning makes a Control do everything that is reported.
func everyTuning(t testing.TB, l *lab) {
	t.Helper()
	c := newControl(t, l)
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: c.ThrottleHooks()}))
	t.Cleanup(func() { _ = th.Close() })
	if _, err := c.Apply(t.Context(), tuned(throttle.ModeOff)); err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(t.Context(), filepath.Join(t.TempDir(), "missing.json")); err != nil {
		t.Fatal(err)
	}
}

// tuned is a document that sets the mode of the throttle db.
func tuned(mode throttle.Mode) control.Document {
	return control.Document{Throttles: map[string]*control.Throttle{
		"db": {Patch: throttle.Patch{Mode: &mode}, Terms: control.Terms{By: "ana", Reason: "INC-7", Optional: true}},
	}}
}

// TestTuned_event is on the span of the change.
func TestTuned_event(t *testing.T) {
	l := newLab(t, setup{})
	c := newControl(t, l)
	throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: c.ThrottleHooks()}))
	ctx, span := l.request(t.Context())
	if _, err := c.Apply(ctx, tuned(throttle.ModeOff)); err != nil {
		t.Fatal(err)
	}
	span.End()
	events := l.spanNamed(t, "request").Events()
	if len(events) != 1 || events[0].Name != "throttle.tuned" {
		t.Fatalf("events: got %v want one throttle.tuned", events)
	}
	wantAttributes(t, "event", events[0].Attributes, "throttle.tuning.kind", "throttle", "throttle.tuning.name", "db", "throttle.tuning.source", "apply",
		"throttle.tuning.result", "applied", "throttle.tuning.values", "mode=off", "throttle.tuning.by", "ana", "throttle.tuning.reason", "INC-7")
}

// TestControlHooks_withoutTelemetry are empty.
func TestControlHooks_withoutTelemetry(t *testing.T) {
	var none *otelthrottle.Telemetry
	if h := none.ControlHooks(); h.Created != nil || h.Tuned != nil {
		t.Error("got hooks of a nil Telemetry")
	}
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithoutSpans()}})
	if h := l.tel.ControlHooks(); h.Created == nil || h.Tuned != nil {
		t.Error("WithoutSpans: got a hook for spans, or none for metrics")
	}
	ctx := context.Background()
	if _, err := newControl(t, l).Apply(ctx, tuned(throttle.ModeOff)); err != nil {
		t.Error(err)
	}
}
