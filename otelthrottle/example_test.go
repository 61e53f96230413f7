package otelthrottle_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// From a throttle to a Prometheus endpoint.
func Example() {
	exporter, err := otelprometheus.New()
	if err != nil {
		log.Fatal(err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters))
	if err != nil {
		log.Fatal(err)
	}
	th, err := throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()})
	if err != nil {
		log.Fatal(err)
	}
	metrics := promhttp.HandlerFor(prometheus.DefaultGatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
	http.Handle("/metrics", metrics)

	_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })

	page := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	scope := regexp.MustCompile(`otel_scope_\w+="[^"]*",`)
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "throttle_calls_total") && strings.Contains(line, `"high"`) {
			fmt.Print(scope.ReplaceAllString(line, ""))
		}
	}

	_ = tel.Shutdown(context.Background())
	_ = th.Close()
	_ = meters.Shutdown(context.Background())
	// Output:
	// throttle_calls_total{throttle_decision="admitted",throttle_name="recommendations",throttle_outcome="accepted",throttle_priority="high"} 1
	// throttle_calls_total{error_type="shed",throttle_cause="above",throttle_decision="shed",throttle_name="recommendations",throttle_outcome="shed",throttle_priority="high"} 0
	// throttle_calls_total{error_type="shed",throttle_cause="own",throttle_decision="shed",throttle_name="recommendations",throttle_outcome="shed",throttle_priority="high"} 0
}

// Install reports a throttle that was made without Hooks, for example in a library.
func ExampleInstall() {
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	tel, err := otelthrottle.Install(otelthrottle.WithMeterProvider(meters))
	if err != nil {
		log.Fatal(err)
	}

	th, err := throttle.New(throttle.Config{Name: "in-a-library"})
	if err != nil {
		log.Fatal(err)
	}
	_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		log.Fatal(err)
	}
	ours := slices.IndexFunc(collected.ScopeMetrics, func(m metricdata.ScopeMetrics) bool { return m.Scope.Name == otelthrottle.ScopeName })
	for _, m := range collected.ScopeMetrics[ours].Metrics {
		if window, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == semconv.MetricWindowAccepts {
			for _, p := range window.DataPoints {
				if p.Value > 0 {
					fmt.Println(p.Attributes.Encoded(attribute.DefaultEncoder()), p.Value)
				}
			}
		}
	}

	_ = tel.Shutdown(context.Background())
	_ = th.Close()
	_ = meters.Shutdown(context.Background())
	// Output:
	// throttle.name=in-a-library,throttle.priority=high 1
}

// With this View the Prometheus exporter exposes durations as native histograms.
func ExampleNew_nativeHistograms() {
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(
		metric.WithReader(reader), // in a service: the Prometheus exporter
		metric.WithView(metric.NewView(metric.Instrument{Kind: metric.InstrumentKindHistogram},
			metric.Stream{Aggregation: metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})),
	)
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters))
	if err != nil {
		log.Fatal(err)
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations", Hooks: tel.Hooks()}))
	_ = th.Do(context.Background(), throttle.High, func(context.Context) error { return nil })

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if durations, ok := m.Data.(metricdata.ExponentialHistogram[float64]); ok {
			fmt.Println(m.Name, durations.DataPoints[0].Count)
		}
	}
	_ = tel.Shutdown(context.Background())
	_ = th.Close()
	_ = meters.Shutdown(context.Background())
	// Output: throttle.call.duration 1
}
