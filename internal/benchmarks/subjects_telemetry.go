package main

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// sdk is the OpenTelemetry SDK as an application sets it up, without an exporter.
type sdk struct {
	metrics *sdkmetric.MeterProvider
	traces  *sdktrace.TracerProvider
}

func newSDK() sdk {
	return sdk{
		metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		traces:  sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)))),
	}
}

func (s sdk) hooks(options ...otelthrottle.Option) throttle.Hooks {
	options = append(options, otelthrottle.WithMeterProvider(s.metrics), otelthrottle.WithTracerProvider(s.traces))
	tel, err := otelthrottle.New(options...)
	if err != nil {
		panic(err)
	}
	return tel.Hooks()
}

// telemetry returns calls that are reported to OpenTelemetry. The first has the default options.
func telemetry() []*subject {
	s := newSDK()
	sampled, _ := sdktrace.NewTracerProvider().Tracer("bench").Start(context.Background(), "sampled")
	withMetrics := func(name string, ctx context.Context, hooks throttle.Hooks) *subject {
		return healthy(ctx, name, throttle.High, throttle.Config{Policy: throttle.SRE, Hooks: hooks})
	}
	return []*subject{
		withMetrics("allowed, metrics on", context.Background(), s.hooks()),
		withMetrics("allowed, metrics on, no duration, no spans", context.Background(), s.hooks(otelthrottle.WithoutSpans(), otelthrottle.WithoutDuration())),
		withMetrics("allowed, metrics on, sampled span", sampled, s.hooks(otelthrottle.WithTracerProvider(sdktrace.NewTracerProvider()))),
		recorded(s),
	}
}

// recorded is one record of a histogram without a throttle, with prepared attributes.
func recorded(s sdk) *subject {
	ctx := context.Background()
	histogram, err := s.metrics.Meter("bench").Float64Histogram("bench.duration",
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10))
	if err != nil {
		panic(err)
	}
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
		attribute.String("throttle.name", "bench"), attribute.String("throttle.priority", "high"), attribute.String("throttle.outcome", "accepted")))}
	took := time.Microsecond
	return &subject{name: "Histogram.Record, attributes made before", pair: true, op: func() error {
		histogram.Record(ctx, took.Seconds(), options...)
		return nil
	}}
}
