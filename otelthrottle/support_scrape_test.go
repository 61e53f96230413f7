package otelthrottle_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

const openMetrics = "application/openmetrics-text; version=1.0.0"

// endpoint is a /metrics endpoint with the real exporter behind it.
type endpoint struct{ server *httptest.Server }

// newScrapedLab returns a lab that has an endpoint too.
func newScrapedLab(t testing.TB, s setup) (*lab, *endpoint) {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatalf("exporter: got error %v want nil", err)
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.meters = append(s.meters, sdkmetric.WithReader(exporter))
	return newLab(t, s), &endpoint{server}
}

// scrape returns what the endpoint answers to someone who accepts a format; none is the text format.
func (e *endpoint) scrape(t testing.TB, accept string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := e.server.Client().Do(request)
	if err != nil {
		t.Fatalf("scrape: got error %v want nil", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("scrape: got status %d, error %v and %s want 200", response.StatusCode, err, body)
	}
	return string(body)
}

// wantSeries fails the test unless the text format can be parsed and has want series of a metric.
func wantSeries(t testing.TB, text, metric string, want int) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("scrape: got error %v want none", err)
	}
	equal(t, "series of "+metric, len(families[metric].GetMetric()), want)
}
