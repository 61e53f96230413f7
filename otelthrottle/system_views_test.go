package otelthrottle_test

import (
	"context"
	"fmt"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestDeltaTemporality has a reader with delta temporality.
func TestDeltaTemporality(t *testing.T) {
	delta := func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
	l := newLab(t, setup{reader: []sdkmetric.ManualReaderOption{sdkmetric.WithTemporalitySelector(delta)}})
	cumulative := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Hooks: cumulative.tel.Hooks()})
	duration := series(semconv.MetricCallDuration, "throttle.name", "db", "throttle.priority", "high", "throttle.outcome", "accepted")
	total := 0.0
	for _, n := range []int{7, 7, 0, 3} {
		t.Run(fmt.Sprintf("%d more calls", n), func(t *testing.T) {
			times(n, th, throttle.High, nil)
			total += float64(n)
			got := l.read(t)
			equal(t, "accepted", got[accepted(throttle.High)], float64(n))
			equal(t, "durations", got[duration], float64(n))
			equal(t, "accepted in all", cumulative.read(t)[accepted(throttle.High)], total)
			wantTemporality(t, l, metricdata.DeltaTemporality)
		})
	}
	second := l.throttle(t, throttle.Config{Name: "db"})
	times(2, second, throttle.High, nil)
	_ = th.Close()
	equal(t, "accepted by another of the name", l.read(t)[accepted(throttle.High)], 2)
	_ = second.Close()
	l.read(t).of(semconv.MetricCalls).want(t, snapshot{})
}

func wantTemporality(t *testing.T, l *lab, want metricdata.Temporality) {
	t.Helper()
	for _, m := range collect(t, l.reader) {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			equal(t, "temporality of "+m.Name, sum.Temporality, want)
		}
	}
}

// TestTwoAdaptersOnOneProvider is not intended, but valid: the values of one name are summed up.
func TestTwoAdaptersOnOneProvider(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	second := newTelemetry(t, otelthrottle.WithMeterProvider(l.meters), otelthrottle.WithTracerProvider(l.traces))
	times(10, l.throttle(t, throttle.Config{Name: "db"}), throttle.High, nil)
	times(5, throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: second.Hooks()})), throttle.High, nil)
	equal(t, "accepted", l.read(t)[accepted(throttle.High)], 15)
	wantSeries(t, e.scrape(t, ""), "throttle_calls_total", 12)
	if err := second.Shutdown(context.Background()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	equal(t, "accepted, by the one left", l.read(t)[accepted(throttle.High)], 10)
}
