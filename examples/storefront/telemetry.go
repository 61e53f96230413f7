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

// maxQueuedSpans is how many spans are queued for the exporter. An overload makes thousands of
// spans per second; spans beyond the queue are dropped.
const maxQueuedSpans = 1 << 14

type telemetry struct {
	registry  *prometheus.Registry
	meters    *metric.MeterProvider
	tracers   *trace.TracerProvider
	throttles *otelthrottle.Telemetry
}

// newTelemetry makes the metrics for Prometheus, including those of the Go runtime and the process,
// and the traces. Every request is sampled, because exemplars need sampled spans.
// OTEL_TRACES_SAMPLER changes that. Spans are exported only if the environment sets an endpoint.
func newTelemetry(ctx context.Context, getenv func(string) string) (*telemetry, error) {
	res, err := resource.New(ctx,
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
	tracing := []trace.TracerProviderOption{trace.WithResource(res)}
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		spans, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		tracing = append(tracing, trace.WithBatcher(spans, trace.WithMaxQueueSize(maxQueuedSpans)))
	}
	t := &telemetry{
		registry: registry,
		meters:   metric.NewMeterProvider(metric.WithResource(res), metric.WithReader(exporter)),
		tracers:  trace.NewTracerProvider(tracing...),
	}
	t.throttles, err = otelthrottle.New(otelthrottle.WithMeterProvider(t.meters), otelthrottle.WithTracerProvider(t.tracers))
	return t, err
}

func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.throttles.Shutdown(ctx), t.tracers.Shutdown(ctx), t.meters.Shutdown(ctx))
}
