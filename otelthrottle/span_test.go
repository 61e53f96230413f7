package otelthrottle_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/deixis/faults"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestSpanNeedsARecordingParent makes one call under every kind of parent.
func TestSpanNeedsARecordingParent(t *testing.T) {
	none := func(_ *lab, ctx context.Context) context.Context { return ctx }
	request := func(l *lab, ctx context.Context) context.Context {
		ctx, _ = l.request(ctx)
		return ctx
	}
	remote := func(_ *lab, ctx context.Context) context.Context {
		return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	recorded := samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingDecision {
		if p.Name == "request" {
			return sdktrace.RecordOnly
		}
		return sdktrace.RecordAndSample
	})
	for _, tt := range []struct {
		name         string
		sampler      sdktrace.Sampler
		parent       func(*lab, context.Context) context.Context
		plain, roots int // spans of the throttle, and with WithRootSpans
	}{
		{"none", nil, none, 0, 1},
		{"sampled", nil, request, 1, 1},
		{"unsampled", sdktrace.ParentBased(sdktrace.NeverSample()), request, 0, 0},
		{"recorded but not sampled", recorded, request, 1, 1},
		{"remote and sampled", nil, remote, 0, 1},
		{"sampled, own span dropped", dropping("throttle db"), request, 0, 0},
	} {
		for i, options := range [][]otelthrottle.Option{nil, {otelthrottle.WithRootSpans()}} {
			l := newLab(t, setup{options: options, sampler: tt.sampler})
			_ = l.throttle(t, throttle.Config{Name: "db"}).Do(tt.parent(l, t.Context()), throttle.High, succeed)
			equal(t, tt.name+": spans that have ended", len(l.spans.Ended()), []int{tt.plain, tt.roots}[i])
		}
	}
}

func TestSpanIsAChildOfTheCallers(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, request := l.request(t.Context())
	var inside trace.SpanContext
	_ = th.Do(ctx, throttle.Important, func(ctx context.Context) error {
		inside = trace.SpanContextFromContext(ctx)
		_, query := l.tracer.Start(ctx, "query")
		query.End()
		return nil
	})
	request.End()

	l.wantSpans(t, "request", "throttle db", "query")
	span := l.spanNamed(t, "throttle db")
	equal(t, "kind", span.SpanKind(), trace.SpanKindInternal)
	equal(t, "trace", span.SpanContext().TraceID(), request.SpanContext().TraceID())
	equal(t, "parent", span.Parent().SpanID(), request.SpanContext().SpanID())
	equal(t, "links", len(span.Links()), 0)
	equal(t, "span in the function's context", inside.SpanID(), span.SpanContext().SpanID())
	equal(t, "parent of a span inside", l.spanNamed(t, "query").Parent().SpanID(), span.SpanContext().SpanID())
	equal(t, "scope", span.InstrumentationScope().Name, otelthrottle.ScopeName)
	equal(t, "version", span.InstrumentationScope().Version, otelthrottle.Version)
}

// TestSpanStartsWithItsAttributes asks a sampler, which sees no others.
func TestSpanStartsWithItsAttributes(t *testing.T) {
	tests := []struct {
		name     string
		mode     throttle.Mode
		reject   int
		sheds    bool
		decision string
		odds     float64
	}{
		{"calm", throttle.ModeEnforce, 0, false, "admitted", 0},
		{"at a probability", throttle.ModeEnforce, 60, false, "admitted", 0.5},
		{"in Shadow", throttle.ModeShadow, 60, true, "shadow_shed", 0.5},
		{"in Off", throttle.ModeOff, 60, true, "admitted", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen []attribute.KeyValue
			l := newLab(t, setup{sampler: samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingDecision {
				if p.Name == "throttle db" {
					seen = p.Attributes
				}
				return sdktrace.RecordAndSample
			})})
			th := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db", Mode: tt.mode})
			l.reject(t, th, throttle.Low, tt.reject)
			l.sheds.Store(tt.sheds)
			ctx, _ := l.request(t.Context())
			_ = th.Do(ctx, throttle.Low, succeed)
			start := []any{
				"throttle.name", "db", "throttle.priority", "low",
				"throttle.decision", tt.decision, "throttle.rejection_probability", tt.odds,
			}
			wantAttributes(t, "the start", seen, start...)
			wantAttributes(t, "the span", l.spanNamed(t, "throttle db").Attributes(), append(start, "throttle.outcome", "accepted")...)
		})
	}
}

type ending struct {
	name      string
	fn        func(context.Context) error
	fallback  throttle.Fallback
	outcome   string
	errorType string // of the call
	failed    bool   // an error left Do
	more      []any  // attributes
}

func endings() []ending {
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	boom := func(context.Context, error, bool) error { panic("boom") }
	panics := func(context.Context) error { panic("boom") }
	leaves := func(context.Context) error { runtime.Goexit(); return nil }
	return []ending{
		{"accepted", succeed, nil, "accepted", "", false, nil},
		{"accepted with an error", returns(faults.NotFound), nil, "accepted", "missing", true, nil},
		{"accepted with any error", returns(errPlain), nil, "accepted", "_OTHER", true, nil},
		{"rejected", returns(errBusy), nil, "rejected", "availability", true, nil},
		{"rejected by mark", returns(throttle.MarkRejected(errPlain)), nil, "rejected", "_OTHER", true, nil},
		{"overloaded", returns(throttle.MarkOverloaded(errPlain)), nil, "rejected", "_OTHER", true, []any{"throttle.overloaded", true}},
		{"timed out", returns(context.DeadlineExceeded), nil, "rejected", "timeout", true, nil},
		{"cancelled", returns(context.Canceled), nil, "ignored", "canceled", true, nil},
		{"shed further in", returns(throttle.ErrShed), nil, "ignored", "shed", true, nil},
		{"served by a fallback", returns(errBusy), serves, "rejected", "availability", false, nil},
		{"failed by a fallback", returns(errBusy), fails, "rejected", "availability", true, nil},
		{"panicked", panics, nil, "ignored", "panic", true, nil},
		{"left its goroutine", leaves, nil, "ignored", "panic", true, nil},
		{"panicked, with a fallback", panics, serves, "ignored", "panic", true, nil},
		{"panicked in its fallback", returns(errBusy), boom, "rejected", "availability", true, nil},
	}
}

// TestSpanEndsWithTheOutcome checks what a span says of how a call ended: error.type is the backend's, the status is the
// caller's.
func TestSpanEndsWithTheOutcome(t *testing.T) {
	for _, tt := range endings() {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{})
			th := l.throttle(t, throttle.Config{Name: "db"})
			ctx, request := l.request(t.Context())
			_ = survive(func() { _ = th.Do(ctx, throttle.High, tt.fn, tt.fallback) })
			request.End()
			l.wantSpans(t, "request", "throttle db")
			span := l.spanNamed(t, "throttle db")
			want := []any{
				"throttle.name", "db", "throttle.priority", "high", "throttle.decision", "admitted",
				"throttle.rejection_probability", 0.0, "throttle.outcome", tt.outcome,
			}
			want = append(want, tt.more...)
			if tt.errorType != "" {
				want = append(want, "error.type", tt.errorType)
			}
			wantAttributes(t, "the span", span.Attributes(), want...)
			status := sdktrace.Status{Code: codes.Unset}
			if tt.failed {
				status = sdktrace.Status{Code: codes.Error, Description: tt.outcome}
			}
			equal(t, "status", span.Status(), status)
			equal(t, "events", len(span.Events()), 0)
			equal(t, "status of the request", l.spanNamed(t, "request").Status().Code, codes.Unset)
		})
	}
}

// TestTwoPhaseCallHasASpan ends the span with Done, not with Admit, and puts it into the call's context.
func TestTwoPhaseCallHasASpan(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, _ := l.request(t.Context())
	call, err := th.Admit(ctx, throttle.High)
	if err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	span := trace.SpanFromContext(call.Context())
	equal(t, "span under way records", span.IsRecording(), true)
	equal(t, "spans that have ended", len(l.spans.Ended()), 0)
	call.Done(errBusy)
	call.Done(nil)
	ended := l.spanNamed(t, "throttle db")
	equal(t, "span", ended.SpanContext().SpanID(), span.SpanContext().SpanID())
	equal(t, "status", ended.Status().Code, codes.Error)
}

// TestShedEventOnTheCallersSpan is all that a trace has of a shed call.
func TestShedEventOnTheCallersSpan(t *testing.T) {
	shedEvent := []any{
		"throttle.name", "db", "throttle.priority", "low", "throttle.cause", "own", "throttle.rejection_probability", 0.5,
	}
	tests := []struct {
		name    string
		options []otelthrottle.Option
		mode    throttle.Mode
		sampler sdktrace.Sampler
		want    int
		spans   []string
	}{
		{"Enforce", nil, throttle.ModeEnforce, nil, 1, []string{"request"}},
		{"Shadow", nil, throttle.ModeShadow, nil, 0, []string{"request", "throttle db"}},
		{"Off", nil, throttle.ModeOff, nil, 0, []string{"request", "throttle db"}},
		{"root spans", []otelthrottle.Option{otelthrottle.WithRootSpans()}, throttle.ModeEnforce, nil, 1, []string{"request"}},
		{"filtered", []otelthrottle.Option{keepOnly("none")}, throttle.ModeEnforce, nil, 0, []string{"request"}},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, throttle.ModeEnforce, nil, 0, []string{"request"}},
		{"recorded but not sampled", nil, throttle.ModeEnforce, samplerFunc(func(sdktrace.SamplingParameters) sdktrace.SamplingDecision {
			return sdktrace.RecordOnly
		}), 1, []string{"request"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: append(tt.options, otelthrottle.WithoutDuration()), sampler: tt.sampler})
			th := l.throttle(t, throttle.Config{Policy: throttle.SRE, Name: "db", Mode: throttle.ModeOff})
			l.reject(t, th, throttle.Low, 60)
			if err := th.Tune(throttle.Patch{Mode: new(tt.mode)}); err != nil {
				t.Fatalf("Tune: got error %v want nil", err)
			}
			l.spans.Reset()
			l.sheds.Store(true)
			ctx, request := l.request(t.Context())
			_ = th.Do(ctx, throttle.Low, succeed)
			equal(t, "caller's span records", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, tt.spans...)
			span := l.spanNamed(t, "request")
			equal(t, "status of the caller's span", span.Status().Code, codes.Unset)
			equal(t, "attributes of the caller's span", len(span.Attributes()), 0)
			equal(t, "events", len(span.Events()), tt.want)
			for _, e := range span.Events() {
				equal(t, "event", e.Name, "throttle.shed")
				wantAttributes(t, "the event", e.Attributes, shedEvent...)
			}
		})
	}
}

// TestFilterIsAskedOncePerTracedCall calls the filter once for a call, and only if there is a span for it, which has the name of the
// option.
func TestFilterIsAskedOncePerTracedCall(t *testing.T) {
	var asked []string
	type key struct{}
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithFilter(
		func(ctx context.Context, name string, p throttle.Priority) bool {
			word, _ := ctx.Value(key{}).(string)
			asked = append(asked, word+" "+name+" "+p.String())
			return p == throttle.High
		},
	), otelthrottle.WithSpanNameFormatter(func(name string, p throttle.Priority) string { return p.String() + " call to " + name })}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	times(1, th, throttle.High, nil)
	ctx, request := l.request(context.WithValue(t.Context(), key{}, "traced"))
	_ = th.Do(ctx, throttle.High, succeed)
	_ = th.Do(ctx, throttle.Low, succeed)
	equal(t, "times asked", len(asked), 2)
	equal(t, "asked first", asked[0], "traced db high")
	equal(t, "asked second", asked[1], "traced db low")
	request.End()
	l.wantSpans(t, "high call to db", "request")
	equal(t, "calls of low priority counted", l.read(t)[accepted(throttle.Low)], 1)
}
