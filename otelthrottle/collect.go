package otelthrottle

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/internal/byname"
)

// collect reports all sources. It is the callback of the meter, and holds no lock of its own while
// it runs.
func (tel *Telemetry) collect(_ context.Context, to metric.Observer) error {
	if tel.ended.Load() {
		return nil
	}
	reportAll("throttle", tel.throttles, func(a *throttleAttributes, sum throttleSum) {
		r := throttleReport{to, &tel.instruments.throttles, a}
		r.report(sum)
	})
	reportAll("breaker", tel.breakers, func(a *breakerAttributes, sum breakerSum) {
		r := breakerReport{to, &tel.instruments.breakers, a}
		r.report(&sum)
		r.reportCircuits(&sum, tel.breakerDetail)
	})
	reportAll("bucket", tel.buckets, func(a *bucketAttributes, sum bucketSum) {
		r := bucketReport{to, &tel.instruments.buckets, a}
		r.report(&sum)
	})
	reportAll("control", tel.controls, func(a *controlAttributes, sum controlSum) {
		r := controlReport{to, &tel.instruments.controls, a}
		r.report(&sum)
	})
	for _, o := range tel.observers {
		o.collect(to)
	}
	tel.promised.report(to)
	tel.instruments.processor.report(to, tel.processor, tel.process())
	return nil
}

// reportAll reports the sources of one system. An error of one source goes to otel.Handle: if the
// callback returned it, a reader might discard the whole collection.
func reportAll[M comparable, S, R, A any](system string, registry *byname.Registry[M, S, R, A], report func(A, R)) {
	for _, s := range registry.Sources() {
		sum, open, err := s.Read()
		if err != nil {
			otel.Handle(fmt.Errorf("otelthrottle: this collection leaves out %s %q: %w", system, s.Name, err))
		}
		if open {
			report(s.Data, sum)
		}
	}
}
