package otelthrottle_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
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

func tunings(source, result string) string {
	return series(semconv.MetricTunings, "throttle.tuning.source", source, "throttle.tuning.result", result)
}

func overrides(source string) string {
	return series(semconv.MetricControlOverrides, "throttle.tuning.source", source)
}

// controls returns the series of Controls.
func (s snapshot) controls() snapshot {
	return s.of(semconv.MetricTunings, semconv.MetricControlOverrides, semconv.MetricControlBroken, semconv.MetricControlVersion)
}

func mode(name, mode, source string) string {
	return series(semconv.MetricMode, "throttle.name", name, "throttle.mode", mode, "throttle.mode.source", source)
}

// tuned is a document that sets the mode of the throttle db.
func tuned(mode throttle.Mode) control.Document {
	return control.Document{Throttles: map[string]*control.Throttle{
		"db": {Patch: throttle.Patch{Mode: &mode}, Terms: control.Terms{By: "ana", Reason: "INC-7", Optional: true}},
	}}
}

// TestControlIsReported from its first change to its end.
func TestControlIsReported(t *testing.T) {
	l := newLab(t, setup{})
	c := newControl(t, l)
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: throttle.JoinHooks(l.tel.Hooks(), c.ThrottleHooks())}))
	shadow := throttle.Must(throttle.New(throttle.Config{Name: "db", Mode: throttle.ModeShadow, Hooks: l.tel.Hooks()}))
	want := snapshot{}
	for _, source := range []string{"apply", "file", "http"} {
		want[overrides(source)] = 0
		for _, result := range []string{"applied", "ended", "refused"} {
			want[tunings(source, result)] = 0
		}
	}
	l.read(t).controls().want(t, want)
	l.read(t).of(semconv.MetricMode).want(t, snapshot{mode("db", "enforce", "code"): 1, mode("db", "shadow", "code"): 1})

	ctx, span := l.request(t.Context())
	if _, err := c.Apply(ctx, tuned(throttle.ModeOff)); err != nil {
		t.Fatal(err)
	}
	span.End()
	events := l.spanNamed(t, "request").Events()
	if len(events) != 1 || events[0].Name != "throttle.tuned" {
		t.Fatalf("events: got %v want one %s", events, "throttle.tuned")
	}
	wantAttributes(t, "event", events[0].Attributes, "throttle.tuning.kind", "throttle", "throttle.tuning.name", "db", "throttle.tuning.source", "apply",
		"throttle.tuning.result", "applied", "throttle.tuning.values", "mode=off", "throttle.tuning.by", "ana", "throttle.tuning.reason", "INC-7")
	want[tunings("apply", "applied")], want[overrides("apply")] = 1, 1
	l.read(t).controls().want(t, want)
	l.read(t).of(semconv.MetricMode).want(t, snapshot{mode("db", "off", "override"): 1, mode("db", "shadow", "code"): 1})

	if _, err := c.Apply(t.Context(), tuned(9)); err == nil {
		t.Error("Apply of an unknown mode: got no error")
	}
	if _, err := c.Apply(t.Context(), control.Document{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "control.json")
	if err := c.Watch(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	want[tunings("apply", "refused")], want[tunings("apply", "ended")], want[overrides("apply")] = 1, 1, 0
	want[tunings("file", "refused")], want[series(semconv.MetricControlBroken)] = 1, 1
	want[series(semconv.MetricControlVersion)] = 0
	l.read(t).controls().want(t, want)
	_ = c.Close()
	_, _ = th.Close(), shadow.Close()
	l.read(t).want(t, snapshot{})
}

// TestControl_changed is when a name changed last, and from where. Names without a throttle have none.
func TestControl_changed(t *testing.T) {
	l := newLab(t, setup{})
	c := newControl(t, l)
	changed := series(semconv.MetricControlChanged, "throttle.tuning.kind", "throttle", "throttle.tuning.name", "db", "throttle.tuning.source", "apply")
	apply := func(mode throttle.Mode) snapshot {
		if _, err := c.Apply(t.Context(), tuned(mode)); err != nil {
			t.Fatal(err)
		}
		return l.read(t).of(semconv.MetricControlChanged)
	}
	apply(throttle.ModeShadow).want(t, snapshot{})
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: c.ThrottleHooks()}))
	t.Cleanup(func() { _ = th.Close() })
	before := time.Now().Unix()
	if got := apply(throttle.ModeOff); len(got) != 1 || got[changed] < float64(before) || got[changed] > float64(time.Now().Unix()) {
		t.Errorf("got %v want the time of the change", got)
	}
}

// TestControl_brokenFile is 0 while the file is good. Its version is that of the Control.
func TestControl_brokenFile(t *testing.T) {
	l := newLab(t, setup{})
	path := filepath.Join(t.TempDir(), "control.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newControl(t, l)
	if err := c.Watch(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	equal(t, "version", l.read(t).of(semconv.MetricControlVersion)[series(semconv.MetricControlVersion)], float64(c.Stats().Version))
	equal(t, "some version", c.Stats().Version > 0, true)
	equal(t, "broken", l.read(t).of(semconv.MetricControlBroken)[series(semconv.MetricControlBroken)], 0)
	equal(t, "series", len(l.read(t).of(semconv.MetricControlBroken)), 1)
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
