package main

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
)

// maxQueuedSpans is how many spans wait to be sent. An overload makes thousands a second; what is beyond is dropped.
const maxQueuedSpans = 1 << 14

// telemetry is what the program tells about itself.
type telemetry struct {
	registry  *prometheus.Registry
	meters    *metric.MeterProvider
	tracers   *trace.TracerProvider
	throttles *otelthrottle.Telemetry
}

// newTelemetry returns metrics for Prometheus, those of the Go runtime and of the process among them, and traces. Every request is
// sampled, for the sake of the exemplars, unless OTEL_TRACES_SAMPLER says otherwise; spans leave the process only if the environment says
// where to.
func newTelemetry(ctx context.Context, getenv func(string) string) (*telemetry, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "storefront")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	tracing := []trace.TracerProviderOption{trace.WithResource(about)}
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		spans, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		tracing = append(tracing, trace.WithBatcher(spans, trace.WithMaxQueueSize(maxQueuedSpans)))
	}
	t := &telemetry{
		registry: registry,
		meters:   metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(exporter)),
		tracers:  trace.NewTracerProvider(tracing...),
	}
	t.throttles, err = otelthrottle.New(otelthrottle.WithMeterProvider(t.meters), otelthrottle.WithTracerProvider(t.tracers))
	return t, err
}

// shutdown sends what is left to be sent.
func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.throttles.Shutdown(ctx), t.tracers.Shutdown(ctx), t.meters.Shutdown(ctx))
}
