package otelthrottle_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// exporter keeps the last value of each series. If err is not nil, it refuses everything.
type exporter struct {
	t    testing.TB
	mu   sync.Mutex
	kept snapshot
	err  error
}

// periodic returns an exporter, and the options for a MeterProvider that sends to it, by itself not before the test is over.
func periodic(t testing.TB, refusal error) (*exporter, []sdkmetric.Option) {
	e := &exporter{t: t, kept: snapshot{}, err: refusal}
	return e, []sdkmetric.Option{sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, sdkmetric.WithInterval(time.Hour)))}
}

func (e *exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (e *exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (e *exporter) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		maps.Copy(e.kept, snapshotOf(e.t, ours(rm)))
	}
	return e.err
}

func (e *exporter) ForceFlush(ctx context.Context) error { return ctx.Err() }
func (e *exporter) Shutdown(context.Context) error       { return nil }

// take returns what was sent since it was taken last.
func (e *exporter) take() snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	sent := e.kept
	e.kept = snapshot{}
	return sent
}
