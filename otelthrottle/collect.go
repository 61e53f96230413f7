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
	for _, o := range tel.observers {
		o.collect(to)
	}
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
