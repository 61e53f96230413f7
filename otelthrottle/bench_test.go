package otelthrottle_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// newBench returns a Telemetry on an SDK that keeps no spans, and its reader.
func newBench(b *testing.B, options ...otelthrottle.Option) (*otelthrottle.Telemetry, *sdkmetric.ManualReader) {
	b.Helper()
	reader := sdkmetric.NewManualReader()
	return newTelemetry(b, append([]otelthrottle.Option{
		otelthrottle.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))),
		otelthrottle.WithTracerProvider(sdktrace.NewTracerProvider()),
	}, options...)...), reader
}

// under returns a context with a span of a tracer that samples so.
func under(s sdktrace.Sampler) context.Context {
	ctx, _ := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("application").Start(context.Background(), "request")
	return ctx
}

// BenchmarkCall makes a call that ends well: the default first, the bare throttle and one Record beside it.
func BenchmarkCall(b *testing.B) {
	quiet := []otelthrottle.Option{otelthrottle.WithoutDuration(), otelthrottle.WithoutSpans()}
	for _, bb := range []struct {
		name    string
		ctx     context.Context
		options []otelthrottle.Option
	}{
		{"default", context.Background(), nil},
		{"unsampled parent", under(sdktrace.NeverSample()), nil},
		{"sampled parent", under(sdktrace.AlwaysSample()), nil},
		{"WithoutSpans", context.Background(), quiet[1:]},
		{"WithoutDuration", context.Background(), quiet[:1]},
		{"WithoutDuration and WithoutSpans", context.Background(), quiet},
	} {
		b.Run(bb.name, func(b *testing.B) {
			tel, _ := newBench(b, bb.options...)
			benchmarkCall(b, bb.ctx, tel.Hooks())
		})
	}
	b.Run("bare throttle", func(b *testing.B) { benchmarkCall(b, context.Background(), throttle.Hooks{}) })
	b.Run("bare throttle with a Finished hook", func(b *testing.B) {
		benchmarkCall(b, context.Background(), throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {}})
	})
}

func benchmarkCall(b *testing.B, ctx context.Context, hooks throttle.Hooks) {
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
	b.ReportAllocs()
	for b.Loop() {
		if err := th.Do(ctx, throttle.High, succeed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkShed is a call that is refused.
func BenchmarkShed(b *testing.B) {
	tel, _ := newBench(b)
	for _, bb := range []struct {
		name  string
		ctx   context.Context
		hooks throttle.Hooks
	}{
		{"default", context.Background(), tel.Hooks()},
		{"unsampled parent", under(sdktrace.NeverSample()), tel.Hooks()},
		{"bare throttle", context.Background(), throttle.Hooks{}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: bb.hooks, Rand: func() float64 { return 0 }}))
			times(60, th, throttle.High, errBusy)
			b.ReportAllocs()
			for b.Loop() {
				if th.Do(bb.ctx, throttle.High, succeed) == nil {
					b.Fatal("got a call admitted, want it shed")
				}
			}
		})
	}
}

// BenchmarkCollect is one collection by a reader: of throttles at rest with a name each, and of a name with many throttles.
func BenchmarkCollect(b *testing.B) {
	for _, bb := range []struct{ names, perName int }{{1, 1}, {10, 1}, {50, 1}, {1, 100}} {
		b.Run(fmt.Sprintf("%d names of %d throttles", bb.names, bb.perName), func(b *testing.B) {
			tel, reader := newBench(b, otelthrottle.WithoutDuration())
			for i := range bb.names {
				for range bb.perName {
					th := throttle.Must(throttle.New(throttle.Config{Name: fmt.Sprint("db", i), Hooks: tel.Hooks()}))
					times(1, th, throttle.High, errPlain)
				}
			}
			series := len(read(b, reader))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				var rm metricdata.ResourceMetrics
				if err := reader.Collect(context.Background(), &rm); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			each := float64(b.N * series)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/series")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/each, "allocs/series")
			b.ReportMetric(float64(series), "series")
		})
	}
}
