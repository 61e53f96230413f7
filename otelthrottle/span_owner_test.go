package otelthrottle_test

import (
	"context"
	"slices"
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
// the outer call ends, whatever became of the inner one's. Both may be reported by two adapters, or each by its own.
func TestThrottlesInsideEachOther(t *testing.T) {
	with := func(options ...otelthrottle.Option) []otelthrottle.Option { return options }
	outer, inner := keepOnly("outer"), keepOnly("inner")
	dropsOuter := dropping("throttle outer")
	both := []string{"throttle outer", "throttle inner"}
	for _, tt := range []struct {
		name    string
		setup   setup
		between func(context.Context, *lab) (context.Context, func()) // from the outer function's context to the inner call's
		second  []otelthrottle.Option                                 // of a second adapter; nil: there is none
		joined  bool                                                  // both report both calls; else the second reports the inner one
		want    []string                                              // besides the request's
	}{
		{name: "both with spans", want: both},
		{name: "inner filtered", setup: setup{options: with(outer)}, want: both[:1]},
		{name: "outer filtered", setup: setup{options: with(inner)}, want: both[1:]},
		{name: "inner dropped", setup: setup{sampler: dropping("throttle inner")}, want: both[:1]},
		{name: "outer dropped", setup: setup{sampler: dropsOuter}},
		{name: "outer dropped, root spans", setup: setup{sampler: dropsOuter, options: with(otelthrottle.WithRootSpans())}, want: both[1:]},
		{name: "inner filtered, user's span between", setup: setup{options: with(outer)}, between: userSpan, want: []string{"throttle outer", "between"}},
		{name: "inner filtered, span of no trace between", setup: setup{options: with(outer)}, between: detached, want: both[:1]},
		{name: "unsampled span between", setup: setup{sampler: dropping("between")}, between: userSpan, want: both[:1]},
		{name: "two adapters, that of the inner one filters", second: with(outer), want: both[:1]},
		{name: "two adapters", second: with(nil), want: both},
		{name: "joined, the second without spans", second: with(otelthrottle.WithoutSpans()), joined: true, want: both},
		{name: "joined", second: with(nil), joined: true, want: append(both, both...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.setup)
			outerHooks := l.tel.Hooks()
			innerHooks := outerHooks
			if tt.second != nil {
				other := otelthrottle.WithMeterProvider(newLab(t, setup{}).meters)
				innerHooks = newTelemetry(t, append(tt.second, other, otelthrottle.WithTracerProvider(l.traces))...).Hooks()
			}
			if tt.joined {
				outerHooks = throttle.JoinHooks(outerHooks, innerHooks)
				innerHooks = outerHooks
			}
			outer := throttle.Must(throttle.New(throttle.Config{Name: "outer", Hooks: outerHooks}))
			inner := throttle.Must(throttle.New(throttle.Config{Name: "inner", Hooks: innerHooks}))
			ctx, request := l.request(t.Context())
			_ = outer.Do(ctx, throttle.High, func(ctx context.Context) error {
				span := trace.SpanFromContext(ctx)
				recorded := span.IsRecording()
				if tt.between != nil {
					var end func()
					ctx, end = tt.between(ctx, l)
					defer end()
				}
				_ = inner.Do(ctx, throttle.High, succeed)
				equal(t, "outer span records after the inner call", span.IsRecording(), recorded)
				return nil
			})
			equal(t, "request records after both", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, slices.Concat(tt.want, []string{"request"})...)
			span := l.spanNamed(t, "request")
			equal(t, "attributes and events added to the request", len(span.Attributes())+len(span.Events()), 0)
		})
	}
}

func userSpan(ctx context.Context, l *lab) (context.Context, func()) {
	ctx, span := l.tracer.Start(ctx, "between")
	return ctx, func() { span.End() }
}

func detached(ctx context.Context, _ *lab) (context.Context, func()) {
	return trace.ContextWithSpanContext(ctx, trace.SpanContext{}), func() {}
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
