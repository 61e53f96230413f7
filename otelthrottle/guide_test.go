package otelthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// The code of docs/operating.md that uses OpenTelemetry, and its test.

// rolledOut returns a throttle for a first release: it is reported everywhere, and sheds nothing.
func rolledOut(tel *otelthrottle.Telemetry, page *statusz.Page, logger *slog.Logger) *throttle.Throttle {
	th := throttle.Must(throttle.New(throttle.Config{
		Name:  "stock",
		Mode:  throttle.ModeShadow, // decides, counts and reports, and lets every call through
		Hooks: throttle.JoinHooks(tel.Hooks(), page.Hooks(), throttle.LogHooks(logger)),
	}))
	return th
}

func TestARolloutBeginsInShadow(t *testing.T) {
	var lines bytes.Buffer
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(metric.NewMeterProvider()))
	if err != nil {
		t.Fatal(err)
	}
	page := statusz.New()
	defer page.Close()
	th := rolledOut(tel, page, slog.New(slog.NewTextHandler(&lines, nil)))
	for range 200 {
		if err := th.Do(t.Context(), throttle.Low, func(context.Context) error { return faults.Unavailable(0) }); errors.Is(err, throttle.ErrShed) {
			t.Fatal("got a call that was shed in Shadow")
		}
	}
	_ = th.Close()
	if got := lines.String(); !strings.Contains(got, "throttle would start to shed") {
		t.Errorf("log: got %q want the line of a throttle in Shadow", got)
	}
}

// everyThrottle is how the README gives the log, the page and OpenTelemetry to each throttle.
func everyThrottle(tel *otelthrottle.Telemetry, page *statusz.Page, logger *slog.Logger) {
	throttle.SetDefaultHooks(throttle.JoinHooks(tel.Hooks(), page.Hooks(), throttle.LogHooks(logger)))
}

func TestEveryThrottleHasAllHooks(t *testing.T) {
	t.Cleanup(func() { throttle.SetDefaultHooks(throttle.Hooks{}) })
	var lines bytes.Buffer
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(metric.NewMeterProvider()))
	if err != nil {
		t.Fatal(err)
	}
	page := statusz.New()
	defer page.Close()
	everyThrottle(tel, page, slog.New(slog.NewTextHandler(&lines, nil)))
	th := throttle.Must(throttle.New(throttle.Config{Name: "inside a library", Rand: func() float64 { return 0 }}))
	for range 200 {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return faults.Unavailable(0) })
	}
	_ = th.Close()
	if got := lines.String(); !strings.Contains(got, "inside a library") {
		t.Errorf("log: got %q want lines of the throttle without Hooks", got)
	}
}

// readmeMetrics is what the README does at the start of a program.
func readmeMetrics() error {
	exporter, err := otelprometheus.New()
	if err != nil {
		return err
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	_, err = otelthrottle.Install(otelthrottle.WithMeterProvider(meters)) // before the program makes throttles
	if err != nil {
		return err
	}
	metrics := promhttp.HandlerFor(prometheus.DefaultGatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
	http.Handle("/metrics", metrics)
	return nil
}

func TestReadmeMetrics(t *testing.T) {
	mux, registerer, gatherer := http.DefaultServeMux, prometheus.DefaultRegisterer, prometheus.DefaultGatherer
	registry := prometheus.NewRegistry()
	http.DefaultServeMux, prometheus.DefaultRegisterer, prometheus.DefaultGatherer = http.NewServeMux(), registry, registry
	defer func() { // the Example uses them too
		http.DefaultServeMux, prometheus.DefaultRegisterer, prometheus.DefaultGatherer = mux, registerer, gatherer
	}()
	withoutDefaultHooks(t)
	if err := readmeMetrics(); err != nil {
		t.Fatal(err)
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: "recommendations"}))
	defer th.Close()
	w := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if !strings.Contains(w.Body.String(), `throttle_name="recommendations"`) {
		t.Errorf("got %d bytes without the throttle", w.Body.Len())
	}
}
