package otelthrottle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// dropKeys is a View that drops attributes of a metric.
func dropKeys(metric string, keys ...attribute.Key) sdkmetric.Option {
	return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: metric},
		sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter(keys...)}))
}

// TestViewThatDropsThePriority adds counters up, and leaves of a gauge only the last value: that of the lowest priority. So
// do not drop attributes of gauges, ask for the max in the query.
func TestViewThatDropsThePriority(t *testing.T) {
	var meters []sdkmetric.Option
	for name := range schema() {
		meters = append(meters, dropKeys(name, semconv.KeyPriority))
	}
	e := newEndpoint(t)
	l := newLab(t, setup{meters: append(meters, sdkmetric.WithReader(e.exporter))})
	th := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db"})
	times(3, th, throttle.High, nil)
	times(4, th, throttle.Medium, nil)
	l.reject(t, th, throttle.Important, 60)
	l.shed(t.Context(), t, th, throttle.Important, 2)

	got := l.read(t)
	for key, want := range (snapshot{
		"throttle.calls{throttle.decision=admitted,throttle.name=db,throttle.outcome=accepted}":                            7,
		"throttle.calls{error.type=shed,throttle.cause=own,throttle.decision=shed,throttle.name=db,throttle.outcome=shed}": 2,
		"throttle.calls{error.type=availability,throttle.decision=admitted,throttle.name=db,throttle.outcome=rejected}":    60,
		"throttle.call.duration{throttle.name=db,throttle.outcome=accepted}":                                               7,
		"throttle.rejection_probability{throttle.name=db}":                                                                 0,
		"throttle.window.accepts{throttle.name=db}":                                                                        0,
	}) {
		equal(t, key, got[key], want)
	}
	if p := th.RejectionProbability(throttle.Important); p < 0.5 {
		t.Fatalf("probability: got %v want at least 0.5, so that there is something to lose", p)
	}
	wantSeries(t, e.scrape(t, ""), "throttle_calls_total", 4)
}

// TestViewThatDropsAMetric, or renames it, works as for any metric.
func TestViewThatDropsAMetric(t *testing.T) {
	l := newLab(t, setup{meters: []sdkmetric.Option{
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: semconv.MetricCallDuration}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: semconv.MetricCalls}, sdkmetric.Stream{Name: "shop.calls"})),
	}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	times(3, th, throttle.High, nil)
	got := l.read(t)
	got.of(semconv.MetricCallDuration, semconv.MetricCalls).want(t, snapshot{})
	equal(t, "calls under another name", got[strings.Replace(accepted(throttle.High), "throttle.calls", "shop.calls", 1)], 3)
}

// TestViewThatDropsErrorTypeOfTheHistogram is the advice of the package comment for fewer series.
func TestViewThatDropsErrorTypeOfTheHistogram(t *testing.T) {
	l := newLab(t, setup{meters: []sdkmetric.Option{dropKeys(semconv.MetricCallDuration, semconv.KeyErrorType)}})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.ModeOff})
	for _, err := range errorsOfEveryFault() {
		times(1, th, throttle.High, err)
	}
	got := l.read(t)
	equal(t, "series of the histogram", len(got.of(semconv.MetricCallDuration)), 3)
	equal(t, "durations", got.with(semconv.MetricCallDuration), float64(throttle.FaultOther))
	equal(t, "series of failed calls", len(got.of(semconv.MetricCalls).positive()), int(throttle.FaultOther))
}

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

// TestCardinalityLimit has more throttles than the SDK has room for: what is too much is added up in one series.
func TestCardinalityLimit(t *testing.T) {
	const limit, names = 20, 10
	e := newEndpoint(t)
	l := newLab(t, setup{meters: []sdkmetric.Option{sdkmetric.WithCardinalityLimit(limit), sdkmetric.WithReader(e.exporter)}})
	for i := range names {
		times(3, l.throttle(t, throttle.Config{Name: fmt.Sprint("db", i)}), throttle.High, nil)
	}
	got := l.read(t).of(semconv.MetricCalls)
	equal(t, "series", len(got), limit)
	equal(t, "calls in all", got.with("{"), 3*names)
	if got[semconv.MetricCalls+"{otel.metric.overflow=true}"] == 0 {
		t.Errorf("overflow: got none of %v want some", got)
	}
	wantSeries(t, e.scrape(t, ""), "throttle_calls_total", limit)
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
