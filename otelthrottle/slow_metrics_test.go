package otelthrottle_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

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
