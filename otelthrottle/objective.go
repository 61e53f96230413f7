package otelthrottle

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

type objective struct {
	success float64
	p99     time.Duration
}

// WithObjective reports the objectives of this service as the gauge spillway.objective, so that its
// alerts and dashboards use them: the share of High calls that should neither be shed nor rejected,
// such as 0.9995, and the limit for the p99 of accepted calls. The default of each, and 0, is that of
// the rules in dashboards/rules/recording.yml: 0.999 and one second. A rules file with objectives for
// many services is above it.
func WithObjective(success float64, p99 time.Duration) Option {
	return option(func(c *config) { c.objective = objective{success, p99} })
}

func (o objective) validate() error {
	if o.success >= 0 && o.success < 1 && o.p99 >= 0 {
		return nil
	}
	return fmt.Errorf("otelthrottle: WithObjective(%v, %v): want a share below 1 and a duration, or 0 for the default", o.success, o.p99)
}

// newObjective returns the metric of the objectives, those of the options.
func newObjective(common []attribute.KeyValue, of objective) *single[objective] {
	return &single[objective]{attributes: newAttributes(common), value: func() objective { return of }, table: table[objective]{rows: []row[objective]{{
		kind: floatGauge, name: semconv.MetricObjective,
		help: "What this service promises: the share of High calls that succeed, or seconds of the p99.",
		keys: []attribute.Key{semconv.KeyObjective},
		read: func(o *objective, to *output) {
			if o.success > 0 {
				to.float(o.success, semconv.ObjectiveSuccess)
			}
			if o.p99 > 0 {
				to.float(o.p99.Seconds(), semconv.ObjectiveP99)
			}
		},
	}}}}
}
