package otelthrottle_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// keepOnly is a filter that lets spans through for one throttle.
func keepOnly(name string) otelthrottle.Option {
	return otelthrottle.WithFilter(func(_ context.Context, throttle string, _ throttle.Priority) bool { return throttle == name })
}

// dropping samples everything but the spans of this name.
func dropping(name string) sdktrace.Sampler {
	return samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingDecision {
		if p.Name == name {
			return sdktrace.Drop
		}
		return sdktrace.RecordAndSample
	})
}

// TestThrottlesInsideEachOther makes a call inside a call. The span of the outer one, as far as it has one, must record until
// the outer call ends, whatever became of the inner one's.
func TestThrottlesInsideEachOther(t *testing.T) {
	tests := []struct {
		name    string
		setup   setup
		between func(context.Context, *lab) (context.Context, func()) // from the outer function's context to the inner call's
		want    []string                                              // besides the request's
	}{
		{"both with spans", setup{}, same, []string{"throttle outer", "throttle inner"}},
		{"inner filtered", setup{options: []otelthrottle.Option{keepOnly("outer")}}, same, []string{"throttle outer"}},
		{"outer filtered", setup{options: []otelthrottle.Option{keepOnly("inner")}}, same, []string{"throttle inner"}},
		{"inner dropped", setup{sampler: dropping("throttle inner")}, same, []string{"throttle outer"}},
		{"outer dropped", setup{sampler: dropping("throttle outer")}, same, nil},
		{"outer dropped, root spans", setup{
			sampler: dropping("throttle outer"), options: []otelthrottle.Option{otelthrottle.WithRootSpans()},
		}, same, []string{"throttle inner"}},
		{
			"inner filtered, user's span between",
			setup{options: []otelthrottle.Option{keepOnly("outer")}},
			userSpan,
			[]string{"throttle outer", "between"},
		},
		{
			"inner filtered, span of no trace between",
			setup{options: []otelthrottle.Option{keepOnly("outer")}},
			detached,
			[]string{"throttle outer"},
		},
		{"unsampled span between", setup{sampler: dropping("between")}, userSpan, []string{"throttle outer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.setup)
			outer, inner := l.throttle(t, throttle.Config{Name: "outer"}), l.throttle(t, throttle.Config{Name: "inner"})
			ctx, request := l.request(t.Context())
			_ = outer.Do(ctx, throttle.High, func(ctx context.Context) error {
				span := trace.SpanFromContext(ctx)
				recorded := span.IsRecording()
				between, end := tt.between(ctx, l)
				defer end()
				_ = inner.Do(between, throttle.High, succeed)
				equal(t, "outer span records after the inner call", span.IsRecording(), recorded)
				return nil
			})
			equal(t, "request records after both", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, append(tt.want, "request")...)
			span := l.spanNamed(t, "request")
			equal(t, "attributes and events added to the request", len(span.Attributes())+len(span.Events()), 0)
		})
	}
}

func same(ctx context.Context, _ *lab) (context.Context, func()) { return ctx, func() {} }

func userSpan(ctx context.Context, l *lab) (context.Context, func()) {
	ctx, span := l.tracer.Start(ctx, "between")
	return ctx, func() { span.End() }
}

func detached(ctx context.Context, _ *lab) (context.Context, func()) {
	return trace.ContextWithSpanContext(ctx, trace.SpanContext{}), func() {}
}

// TestSeveralAdaptersKeepToTheirOwnSpans has one call reported by two adapters, or a call inside another reported by a second one.
func TestSeveralAdaptersKeepToTheirOwnSpans(t *testing.T) {
	tests := []struct {
		name    string
		options []otelthrottle.Option // of the second adapter
		joined  bool                  // else each throttle has its own
		want    []string
	}{
		{"inner throttle's filters", []otelthrottle.Option{keepOnly("outer")}, false, []string{"throttle outer"}},
		{"inner throttle's with spans", nil, false, []string{"throttle outer", "throttle inner"}},
		{"joined, the second without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, true, []string{"throttle outer", "throttle inner"}},
		{"joined, both with spans", nil, true, []string{"throttle outer", "throttle outer", "throttle inner", "throttle inner"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{})
			second := newTelemetry(t, append([]otelthrottle.Option{
				otelthrottle.WithMeterProvider(newLab(t, setup{}).meters), otelthrottle.WithTracerProvider(l.traces),
			}, tt.options...)...)
			outerHooks, innerHooks := l.tel.Hooks(), second.Hooks()
			if tt.joined {
				outerHooks = throttle.JoinHooks(outerHooks, innerHooks)
				innerHooks = outerHooks
			}
			outer := throttle.Must(throttle.New(throttle.Config{Name: "outer", Hooks: outerHooks}))
			inner := throttle.Must(throttle.New(throttle.Config{Name: "inner", Hooks: innerHooks}))
			ctx, request := l.request(t.Context())
			_ = outer.Do(ctx, throttle.High, func(ctx context.Context) error {
				_ = inner.Do(ctx, throttle.High, succeed)
				equal(t, "outer span records after the inner call", trace.SpanFromContext(ctx).IsRecording(), true)
				return nil
			})
			equal(t, "request records after both", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, append(tt.want, "request")...)
		})
	}
}

// TestCallInFlightAtTheEndIsToldToItsEnd closes the throttle, or shuts the adapter down, while a call is under way: in its
// function, or later, in its fallback.
func TestCallInFlightAtTheEndIsToldToItsEnd(t *testing.T) {
	closes := func(_ *lab, th *throttle.Throttle) error { return th.Close() }
	shutsDown := func(l *lab, _ *throttle.Throttle) error { return l.tel.Shutdown(context.Background()) }
	for _, tt := range []struct {
		name                 string
		inFunction, fallback func(*lab, *throttle.Throttle) error
		durations            float64
	}{
		{"Close", closes, nil, 1},
		{"Close in the fallback", nil, closes, 1},
		{"Shutdown", shutsDown, nil, 0},
		{"Shutdown in the fallback", nil, shutsDown, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{})
			hooks := l.tel.Hooks()
			throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
			second := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
			ctx, _ := l.request(t.Context())
			_ = second.Do(ctx, throttle.High, func(context.Context) error {
				if tt.inFunction != nil {
					_ = tt.inFunction(l, second)
				}
				return errBusy
			}, func(context.Context, error, bool) error {
				if tt.fallback != nil {
					_ = tt.fallback(l, second)
				}
				l.read(t) // may retire the throttle, whose call has ended by now
				return nil
			})
			wantAttributes(t, "the span", l.spanNamed(t, "throttle db").Attributes(),
				"throttle.name", "db", "throttle.priority", "high", "throttle.decision", "admitted",
				"throttle.rejection_probability", 0.0, "throttle.outcome", "rejected", "error.type", "availability")
			equal(t, "durations", l.read(t).with(semconv.MetricCallDuration), tt.durations)
			_ = second.Do(ctx, throttle.High, succeed)
			equal(t, "spans of a later call", len(l.spans.Started()), 2)
		})
	}
}
