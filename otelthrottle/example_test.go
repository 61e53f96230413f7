package otelthrottle_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
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
