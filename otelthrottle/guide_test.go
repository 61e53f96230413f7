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

// The code of docs/operating.md and docs/rolling-out.md that uses OpenTelemetry, and its test.

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

// observe is what the README does at the start of a program.
func observe(internal *http.ServeMux, logger *slog.Logger) error {
	exporter, err := otelprometheus.New()
	if err != nil {
		return err
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := otelthrottle.Install(otelthrottle.WithMeterProvider(meters))
	if err != nil {
		return err
	}
	page := statusz.New()
	throttle.SetDefaultHooks(throttle.JoinHooks(tel.Hooks(), page.Hooks(), throttle.LogHooks(logger)))
	internal.Handle("/metrics", promhttp.HandlerFor(prometheus.DefaultGatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	internal.Handle("/debug/throttle", page)
	return nil
}

func TestReadmeObserves(t *testing.T) {
	registerer, gatherer := prometheus.DefaultRegisterer, prometheus.DefaultGatherer
	registry := prometheus.NewRegistry()
	prometheus.DefaultRegisterer, prometheus.DefaultGatherer = registry, registry
	defer func() { // the Example uses them too
		prometheus.DefaultRegisterer, prometheus.DefaultGatherer = registerer, gatherer
	}()
	withoutDefaultHooks(t)
	var lines bytes.Buffer
	mux := http.NewServeMux()
	if err := observe(mux, slog.New(slog.NewTextHandler(&lines, nil))); err != nil {
		t.Fatal(err)
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: "in a library", Rand: func() float64 { return 0 }}))
	defer th.Close()
	for range 200 {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return faults.Unavailable(0) })
	}
	for path, want := range map[string]string{"/metrics": `throttle_name="in a library"`, "/debug/throttle?format=json": `"in a library"`} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d bytes without the throttle", path, w.Body.Len())
		}
	}
	if !strings.Contains(lines.String(), "throttle started to shed") {
		t.Errorf("log: got %q want the start of shedding", lines.String())
	}
}
