package otelthrottle_test

import (
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestSlowOpen: calls without an answer are known without Config.Slow too. A stream that had its answer is none.
func TestSlowOpen(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	var calls []throttle.Call
	for range 5 {
		calls = append(calls, throttle.Must(th.Admit(t.Context(), throttle.High)))
	}
	open := series(semconv.MetricSlowOpen, "throttle.name", "db")
	equal(t, "open", l.read(t)[open], 5)
	calls[0].Done(nil)
	calls[1].Answered(nil)
	equal(t, "open, after two answers", l.read(t)[open], 3)
	for _, call := range calls {
		call.Done(nil)
	}
	equal(t, "open at the end", l.read(t)[open], 0)
}
