package otelthrottle_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestHooksThatAreNotNeededAreNil spares a throttle what nobody listens to: a nil hook costs nothing.
func TestHooksThatAreNotNeededAreNil(t *testing.T) {
	const shed, started, finished = "shed ", "started ", "finished "
	tests := []struct {
		name    string
		options []otelthrottle.Option
		want    string
	}{
		{"default", nil, shed + started + finished},
		{"without duration", []otelthrottle.Option{otelthrottle.WithoutDuration()}, shed + started + finished},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, finished},
		{"without both", []otelthrottle.Option{otelthrottle.WithoutDuration(), otelthrottle.WithoutSpans()}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newLab(t, setup{options: tt.options}).tel.Hooks()
			got := ""
			if h.Shed != nil {
				got += shed
			}
			if h.Started != nil {
				got += started
			}
			if h.Finished != nil {
				got += finished
			}
			if h.FellBack != nil {
				got += "fell back"
			}
			equal(t, "hooks", got, tt.want)
			equal(t, "Created and Closed", h.Created != nil && h.Closed != nil, true)
		})
	}
}

// TestShedEventOnTheCallersSpan is all that traces tell of a shed call.
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
		{"Enforce", nil, throttle.Enforce, nil, 1, []string{"request"}},
		{"Shadow", nil, throttle.Shadow, nil, 0, []string{"request", "throttle db"}},
		{"Off", nil, throttle.Off, nil, 0, []string{"request", "throttle db"}},
		{"root spans", []otelthrottle.Option{otelthrottle.WithRootSpans()}, throttle.Enforce, nil, 1, []string{"request"}},
		{"filtered", []otelthrottle.Option{keepOnly("none")}, throttle.Enforce, nil, 0, []string{"request"}},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, throttle.Enforce, nil, 0, []string{"request"}},
		{"recorded but not sampled", nil, throttle.Enforce, samplerFunc(func(sdktrace.SamplingParameters) sdktrace.SamplingDecision {
			return sdktrace.RecordOnly
		}), 1, []string{"request"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: append(tt.options, otelthrottle.WithoutDuration()), sampler: tt.sampler})
			th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.Off})
			l.reject(t, th, throttle.Low, 60)
			if err := th.Tune(func(u *throttle.Tuning) { u.Mode = tt.mode }); err != nil {
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
				equal(t, "event", e.Name, otelthrottle.EventShed)
				wantAttributes(t, "the event", e.Attributes, shedEvent...)
			}
		})
	}
}

// TestShedEventOfAnotherCause is caused by the priorities above.
func TestShedEventOfAnotherCause(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	l.reject(t, th, throttle.High, 60)
	l.reject(t, th, throttle.Low, 20)
	ctx, request := l.request(t.Context())
	l.shed(ctx, t, th, throttle.Low, 1)
	request.End()
	for _, kv := range l.spanNamed(t, "request").Events()[0].Attributes {
		if kv.Key == otelthrottle.KeyCause {
			equal(t, "cause", kv.Value.AsString(), "above")
		}
	}
	equal(t, "shed calls caused above", l.read(t)[series(otelthrottle.MetricCalls, "throttle.name", "db", "throttle.priority", "low",
		"throttle.decision", "shed", "throttle.outcome", "shed", "error.type", "shed", "throttle.cause", "above")], 1)
}

// TestShedCallWithoutASpan has nobody to tell.
func TestShedCallWithoutASpan(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithRootSpans()}})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.Off})
	l.reject(t, th, throttle.Low, 60)
	_ = th.Tune(func(u *throttle.Tuning) { u.Mode = throttle.Enforce })
	l.spans.Reset()
	l.shed(t.Context(), t, th, throttle.Low, 1)
	l.wantSpans(t)
}

// TestFilterIsAskedOncePerTracedCall is asked about the call, and only where a span would hear of it.
func TestFilterIsAskedOncePerTracedCall(t *testing.T) {
	var asked []string
	type key struct{}
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithFilter(
		func(ctx context.Context, name string, p throttle.Priority) bool {
			word, _ := ctx.Value(key{}).(string)
			asked = append(asked, word+" "+name+" "+p.String())
			return p == throttle.High
		},
	)}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	times(1, th, throttle.High, nil)
	ctx, _ := l.request(context.WithValue(t.Context(), key{}, "traced"))
	_ = th.Do(ctx, throttle.High, succeed)
	_ = th.Do(ctx, throttle.Low, succeed)
	equal(t, "times asked", len(asked), 2)
	equal(t, "asked first", asked[0], "traced db high")
	equal(t, "asked second", asked[1], "traced db low")
	equal(t, "spans that have ended", len(l.spans.Ended()), 1)
	equal(t, "calls of low priority counted", l.read(t)[accepted(throttle.Low)], 1)
}

// TestSpanNameFormatter names spans by throttle and priority.
func TestSpanNameFormatter(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{
		otelthrottle.WithSpanNameFormatter(func(name string, p throttle.Priority) string { return p.String() + " call to " + name }),
		otelthrottle.WithSpanNameFormatter(nil), otelthrottle.WithFilter(nil),
	}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, request := l.request(t.Context())
	for _, p := range []throttle.Priority{throttle.High, throttle.Low, throttle.Low} {
		_ = th.Do(ctx, p, succeed)
	}
	request.End()
	l.wantSpans(t, "high call to db", "low call to db", "low call to db", "request")
}

// TestAttributesOfTheUsers are on both signals, but for those of the schema, and the user's slice is left alone.
func TestAttributesOfTheUsers(t *testing.T) {
	mine := []attribute.KeyValue{
		attribute.String("zone", "b"), attribute.String("throttle.name", "mine"), attribute.String("app", "shop"),
		attribute.String("throttle.outcome", "mine"), attribute.String("throttle.decision", "mine"),
	}
	l := newLab(t, setup{options: []otelthrottle.Option{
		otelthrottle.WithAttributes(mine...), otelthrottle.WithAttributes(attribute.String("team", "red")),
	}})
	mine[0] = attribute.String("zone", "changed")
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, request := l.request(t.Context())
	_ = th.Do(ctx, throttle.High, succeed)
	l.reject(t, th, throttle.Low, 60)
	_ = th.Do(ctx, throttle.Low, succeed)
	request.End()

	common := []string{"zone", "b", "app", "shop", "team", "red", "throttle.name", "db", "throttle.priority", "high", "throttle.outcome", "accepted"}
	got := l.read(t)
	equal(t, "calls", got[series(otelthrottle.MetricCalls, append(common, "throttle.decision", "admitted")...)], 1)
	equal(t, "durations", got[series(otelthrottle.MetricCallDuration, common...)], 1)
	for _, s := range l.spans.Ended() {
		if s.Name() != "throttle db" {
			continue
		}
		set := attribute.NewSet(s.Attributes()...)
		for key, want := range map[attribute.Key]string{
			"zone": "b", "app": "shop", "team": "red", "throttle.name": "db", "throttle.outcome": "accepted", "throttle.decision": "admitted",
		} {
			value, _ := set.Value(key)
			equal(t, "attribute "+string(key)+" of a span", value.AsString(), want)
		}
	}
	equal(t, "the user's slice", mine[1].Value.AsString()+" "+mine[2].Value.AsString(), "mine shop")
}
