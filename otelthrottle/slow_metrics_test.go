package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestSlowMetrics has a throttle with late calls, and one of another name without Config.Slow.
func TestSlowMetrics(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Slow: time.Second})
	_ = l.throttle(t, throttle.Config{Name: "fast"})
	for range 6 {
		if _, err := th.Admit(t.Context(), throttle.Low); err != nil {
			t.Fatalf("Admit: got error %v want nil", err)
		}
	}
	l.advance(2 * time.Second)
	got := l.read(t)
	event := func(name string) string {
		return series(semconv.MetricSlowCalls, "throttle.name", "db", "throttle.priority", "low", "throttle.slow.event", name)
	}
	for key, want := range map[string]float64{
		event("late"): 6, event("booked"): 2, event("written_off"): 0, event("would_refuse"): 0,
		series(semconv.MetricSlowThreshold, "throttle.name", "db", "throttle.slow.source", "configured"): 1,
		series(semconv.MetricSlowOldest, "throttle.name", "db"):                                          2,
		series(semconv.MetricSlowOpen, "throttle.name", "db"):                                            6,

		series(semconv.MetricSlowLimit, "throttle.name", "db", "throttle.priority", "low"):  1,
		series(semconv.MetricSlowLimit, "throttle.name", "db", "throttle.priority", "high"): 0,
	} {
		value, found := got[key]
		equal(t, key+" found", found, true)
		equal(t, key, value, want)
	}
	if _, found := got[series(semconv.MetricSlowThreshold, "throttle.name", "fast")]; found {
		t.Error("without Config.Slow: got metrics of slow calls")
	}
}

// TestSlowAutoMetrics has a throttle that learns Slow, and no metrics of it before.
func TestSlowAutoMetrics(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", SlowAuto: true})
	learned := series(semconv.MetricSlowThreshold, "throttle.name", "db", "throttle.slow.source", "learned")
	configured := series(semconv.MetricSlowThreshold, "throttle.name", "db", "throttle.slow.source", "configured")
	late := series(semconv.MetricSlowCalls, "throttle.name", "db", "throttle.priority", "low", "throttle.slow.event", "late")
	call := func(d time.Duration) {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { l.advance(d); return nil })
	}
	for _, s := range []string{learned, late} {
		if _, found := l.read(t)[s]; found {
			t.Errorf("before the first period: got %s", s)
		}
	}
	for range 10 {
		call(200 * time.Millisecond)
	}
	call(5 * time.Second)
	got := l.read(t)
	equal(t, "learned", got[learned], 1)
	equal(t, "late", got[late], 1)
	if _, found := got[configured]; found {
		t.Error("without Config.Slow: got a configured threshold")
	}
}

// TestSlowOpen: calls without an answer are known without Config.Slow too, and those written off are left out.
func TestSlowOpen(t *testing.T) {
	for name, want := range map[string][2]float64{"slow": {3, 0}, "fast": {3, 3}} {
		l := newLab(t, setup{})
		c := throttle.Config{Name: "db"}
		if name == "slow" {
			c.Slow = 100 * time.Millisecond
		}
		th := l.throttle(t, c)
		var calls []throttle.Call
		for range 5 {
			call, err := th.Admit(t.Context(), throttle.High)
			if err != nil {
				t.Fatalf("Admit: got error %v want nil", err)
			}
			calls = append(calls, call)
		}
		calls[0].Done(nil)
		calls[1].Answered(nil) // a stream
		open := series(semconv.MetricSlowOpen, "throttle.name", "db")
		equal(t, name+": open", l.read(t)[open], want[0])
		l.advance(2 * time.Second)
		l.read(t) // finds the late calls
		l.advance(20 * time.Second)
		equal(t, name+": open after 22 s", l.read(t)[open], want[1])
		for _, call := range calls {
			call.Done(nil)
		}
		equal(t, name+": open at the end", l.read(t)[open], 0)
	}
}
