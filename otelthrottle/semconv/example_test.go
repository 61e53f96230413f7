package semconv_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// This View leaves out the error.type of durations, so that they have fewer series.
func Example() {
	reader := metric.NewManualReader() // in a service: the Prometheus exporter
	meters := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(
		metric.NewView(metric.Instrument{Name: semconv.MetricCallDuration}, metric.Stream{
			AttributeFilter: attribute.NewDenyKeysFilter(semconv.KeyErrorType),
		}),
	))
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters))
	if err != nil {
		log.Fatal(err)
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()}))
	ctx := context.Background()
	_ = th.Do(ctx, throttle.High, func(context.Context) error { return context.DeadlineExceeded })

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if durations, ok := m.Data.(metricdata.Histogram[float64]); ok {
			fmt.Println(m.Name, durations.DataPoints[0].Attributes.Encoded(attribute.DefaultEncoder()))
		}
	}
	_ = tel.Shutdown(ctx)
	_ = th.Close()
	_ = meters.Shutdown(ctx)
	// Output: throttle.call.duration throttle.name=recommendations,throttle.outcome=rejected,throttle.priority=high
}
