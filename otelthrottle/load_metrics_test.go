package otelthrottle_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestLoadMetrics has a throttle that sends no reports and receives none, and then both.
func TestLoadMetrics(t *testing.T) {
	l := newLab(t, setup{})
	now := time.Now()
	th := l.throttle(t, throttle.Config{Name: "db", Now: func() time.Time { return now }})
	loads := func() snapshot {
		return l.read(t).of(semconv.MetricLoadSent, semconv.MetricLoadReceived, semconv.MetricLoadState)
	}
	loads().want(t, snapshot{})
	th.LoadReport()
	loads().want(t, snapshot{
		"throttle.load.sent{throttle.name=db,throttle.priority=high}":      0,
		"throttle.load.sent{throttle.name=db,throttle.priority=important}": 0,
		"throttle.load.sent{throttle.name=db,throttle.priority=medium}":    0,
		"throttle.load.sent{throttle.name=db,throttle.priority=low}":       0,
	})
	report := throttle.LoadReport{Overloaded: true}
	report.Shed[throttle.Low] = 0.9
	for range 3 {
		th.ReceiveLoad(report)
		now = now.Add(110 * time.Millisecond)
	}
	got := loads()
	if low := got["throttle.load.received{throttle.name=db,throttle.priority=low}"]; low <= 0 || low > 0.95 {
		t.Errorf("received of low: got %v", low)
	}
	told := l.read(t).of(semconv.MetricCalls)
	if n, ok := told["throttle.calls{error.type=shed,throttle.cause=told,throttle.decision=shed,throttle.name=db,throttle.outcome=shed,throttle.priority=low}"]; !ok || n != 0 {
		t.Errorf("calls of the cause told: got %v, want 0: %v", n, told)
	}
	for state, want := range map[string]float64{"calm": 0, "mixed": 0, "overloaded": 1, "doubted": 0} {
		equal(t, state, got["throttle.load.state{throttle.load.state="+state+",throttle.name=db}"], want)
	}
}
