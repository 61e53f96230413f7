package otelthrottle

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

// objective is what a service promises.
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

// objectiveReport reports the objectives of the options.
type objectiveReport struct {
	gauge        metric.Float64ObservableGauge
	of           objective
	success, p99 []metric.ObserveOption
}

func newObjectiveReport(meter metric.Meter, of objective, common []attribute.KeyValue) (objectiveReport, error) {
	gauge, err := meter.Float64ObservableGauge(semconv.MetricObjective,
		metric.WithDescription("What this service promises: the share of High calls that succeed, or seconds of the p99."))
	kind := func(name string) []metric.ObserveOption {
		return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(append(slices.Clone(common), semconv.KeyObjective.String(name))...))}
	}
	return objectiveReport{gauge, of, kind(semconv.ObjectiveSuccess), kind(semconv.ObjectiveP99)}, err
}

func (r *objectiveReport) report(to metric.Observer) {
	if r.of.success > 0 {
		to.ObserveFloat64(r.gauge, r.of.success, r.success...)
	}
	if r.of.p99 > 0 {
		to.ObserveFloat64(r.gauge, r.of.p99.Seconds(), r.p99...)
	}
}
