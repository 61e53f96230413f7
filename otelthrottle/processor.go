package otelthrottle

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// newProcessor returns the metrics of how long the requests of this process wait for a processor, from the first call on that it
// serves. They have no throttle.name.
func newProcessor(common []attribute.KeyValue, read func() throttle.ProcessorStats) *single[throttle.ProcessorStats] {
	serving := func(s *throttle.ProcessorStats) bool { return s.Processors > 0 }
	rows := []row[throttle.ProcessorStats]{
		one(floatGauge, semconv.MetricProcessorWait, "s", "How long a goroutine of this process waits for a processor.",
			func(s *throttle.ProcessorStats, to *output) { to.float(s.Wait.Seconds()) }).only(serving),
		one(floatGauge, semconv.MetricProcessorAim, "s", "The wait above which calls to this process are shed.",
			func(s *throttle.ProcessorStats, to *output) { to.float(s.Aim.Seconds()) }).only(serving),
		one(floatGauge, semconv.MetricProcessorRunnable, "{goroutine}", "Goroutines that wait for a processor, per processor.",
			func(s *throttle.ProcessorStats, to *output) { to.float(float64(s.Runnable) / float64(s.Processors)) }).only(serving),
		one(floatGauge, semconv.MetricProcessorShare, "1", "Share of the calls to this process that is shed because they wait for a processor.",
			func(s *throttle.ProcessorStats, to *output) { to.float(s.Share) }).only(serving),
		{
			kind: floatGauge, name: semconv.MetricProcessorProbability, unit: "1",
			help: "Probability that a call to this process is shed because calls wait for a processor.",
			keys: []attribute.Key{semconv.KeyPriority}, when: serving,
			read: func(s *throttle.ProcessorStats, to *output) {
				for p := range throttle.Priority(throttle.StandardPriorities) {
					to.float(s.Probabilities[p], p.String())
				}
			},
		},
	}
	return &single[throttle.ProcessorStats]{attributes: newAttributes(common), value: read, table: table[throttle.ProcessorStats]{rows: rows}}
}
