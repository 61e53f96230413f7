package otelthrottle_test

import (
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestProcess reads the gauges of a process whose requests wait, and of one that serves none.
func TestProcess(t *testing.T) {
	of := func(metric string, keysAndValues ...string) string { return series(metric, keysAndValues...) }
	want := snapshot{
		of(otelthrottle.MetricProcessorWait): 0.05, of(otelthrottle.MetricProcessorAim): 0.02,
		of(otelthrottle.MetricProcessorRunnable): 3, of(otelthrottle.MetricProcessorShare): 0.25,
		of(otelthrottle.MetricProcessorProbability, "throttle.priority", "high"):      0,
		of(otelthrottle.MetricProcessorProbability, "throttle.priority", "important"): 0,
		of(otelthrottle.MetricProcessorProbability, "throttle.priority", "medium"):    0.125,
		of(otelthrottle.MetricProcessorProbability, "throttle.priority", "low"):       1,
	}
	newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithProcess(busy())}}).read(t).want(t, want)
	newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithProcess(throttle.ProcessorStats{})}}).read(t).want(t, snapshot{})
}

// TestExempt counts the calls that a throttle serves without a decision.
func TestExempt(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "shop"})
	l.read(t).of(otelthrottle.MetricCallsExempt).want(t, snapshot{})
	th.Exempt()
	th.Exempt()
	l.read(t).of(otelthrottle.MetricCallsExempt).want(t, snapshot{series(otelthrottle.MetricCallsExempt, "throttle.name", "shop"): 2})
}
