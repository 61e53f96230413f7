package otelthrottle_test

import (
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestProcess reads the gauges of a process whose requests wait, and of one that serves none.
func TestProcess(t *testing.T) {
	of := func(metric string, keysAndValues ...string) string { return series(metric, keysAndValues...) }
	want := snapshot{
		of(semconv.MetricProcessorWait): 0.05, of(semconv.MetricProcessorAim): 0.02,
		of(semconv.MetricProcessorRunnable): 3, of(semconv.MetricProcessorShare): 0.25,
		of(semconv.MetricProcessorProbability, "throttle.priority", "high"):      0,
		of(semconv.MetricProcessorProbability, "throttle.priority", "important"): 0,
		of(semconv.MetricProcessorProbability, "throttle.priority", "medium"):    0.125,
		of(semconv.MetricProcessorProbability, "throttle.priority", "low"):       1,
	}
	newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithProcess(busy())}}).read(t).want(t, want)
	newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithProcess(throttle.ProcessorStats{})}}).read(t).want(t, snapshot{})
}

// TestExempt counts the calls that a throttle serves without a decision.
func TestExempt(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "shop"})
	l.read(t).of(semconv.MetricCallsExempt).want(t, snapshot{})
	th.Exempt()
	th.Exempt()
	l.read(t).of(semconv.MetricCallsExempt).want(t, snapshot{series(semconv.MetricCallsExempt, "throttle.name", "shop"): 2})
}
