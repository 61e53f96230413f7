package otelthrottle_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestHooksThatAreNotNeededAreNil: a nil hook costs nothing. Those that are left do what the options say, and no more.
func TestHooksThatAreNotNeededAreNil(t *testing.T) {
	withoutSpans, withoutDuration := otelthrottle.WithoutSpans(), otelthrottle.WithoutDuration()
	for _, tt := range []struct {
		name                      string
		options                   []otelthrottle.Option
		want                      string
		spans, events, histograms int
	}{
		{"default", nil, "asked denied finished shed slept started tuned waited", 1, 3, 3},
		{"without duration", []otelthrottle.Option{withoutDuration}, "denied finished shed slept started tuned waited", 1, 3, 0},
		{"without spans", []otelthrottle.Option{withoutSpans}, "asked finished slept", 0, 0, 3},
		{"without both", []otelthrottle.Option{withoutDuration, withoutSpans}, "", 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: tt.options})
			h, b := l.tel.Hooks(), l.tel.BucketHooks()
			hooks := map[string]bool{
				"shed": h.Shed != nil, "started": h.Started != nil, "finished": h.Finished != nil, "fell back": h.FellBack != nil,
				"asked": b.StoreCalled != nil, "denied": b.Denied != nil, "waited": b.Waited != nil,
				"slept": l.tel.BackoffHooks().Slept != nil, "tuned": l.tel.ControlHooks().Tuned != nil,
			}
			maps.DeleteFunc(hooks, func(_ string, set bool) bool { return !set })
			equal(t, "hooks", strings.Join(slices.Sorted(maps.Keys(hooks)), " "), tt.want)
			ctx, request := l.request(t.Context())
			for _, s := range systems() {
				s.start(l, manner{name: "a"}).use(ctx)
			}
			request.End()
			equal(t, "spans", len(l.spans.Ended()), tt.spans+1)
			equal(t, "events", len(l.spanNamed(t, "request").Events()), tt.events)
			equal(t, "series of histograms", len(l.read(t).pushed()), tt.histograms)
		})
	}
}

// TestFunctionsOfTheUsersMayPanic: the panic goes up, the call counts, and the spans end.
func TestFunctionsOfTheUsersMayPanic(t *testing.T) {
	calls := 0
	once := func() {
		if calls++; calls == 1 {
			panic("disk full")
		}
	}
	finished := throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) { once() }}
	started := throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context { once(); return ctx }}
	for _, tt := range []struct {
		name          string
		option        otelthrottle.Option
		before, after throttle.Hooks
		want          snapshot
	}{
		{"Finished", nil, throttle.Hooks{}, finished, snapshot{accepted(throttle.High): 2}},
		{"Finished, joined first", nil, finished, throttle.Hooks{}, snapshot{accepted(throttle.High): 2}},
		{"Started", nil, throttle.Hooks{}, started, snapshot{panicked(): 1, accepted(throttle.High): 1}},
		{"Started, joined first", nil, started, throttle.Hooks{}, snapshot{panicked(): 1, accepted(throttle.High): 1}},
		{
			"filter", otelthrottle.WithFilter(func(context.Context, string, throttle.Priority) bool { once(); return true }),
			throttle.Hooks{},
			throttle.Hooks{},
			snapshot{panicked(): 1, accepted(throttle.High): 1},
		},
		{
			"span name", otelthrottle.WithSpanNameFormatter(func(name string, _ throttle.Priority) string { once(); return name }),
			throttle.Hooks{},
			throttle.Hooks{},
			snapshot{panicked(): 1, accepted(throttle.High): 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls = 0
			l := newLab(t, setup{options: []otelthrottle.Option{tt.option}})
			hooks := throttle.JoinHooks(tt.before, l.tel.Hooks(), tt.after)
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
			ctx, request := l.request(t.Context())
			equal(t, "panic", survive(func() { _ = th.Do(ctx, throttle.High, succeed) }), any("disk full"))
			_ = th.Do(ctx, throttle.High, succeed)
			equal(t, "caller's span records", request.IsRecording(), true)
			l.read(t).of(semconv.MetricCalls, semconv.MetricCallActive).positive().want(t, tt.want)
		})
	}
}

func panicked() string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", "high",
		"throttle.decision", "admitted", "throttle.outcome", "ignored", "error.type", "panic")
}

// TestHooksWithoutCreated checks that such hooks count nothing, and leave calls and the spans of
// callers alone.
func TestHooksWithoutCreated(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		m := s.start(l, manner{name: "a", uncreated: true})
		ctx, request := l.request(t.Context())
		m.use(ctx)
		_ = m.Close()
		equal(t, "caller's span records", request.IsRecording(), true)
		request.End()
		l.wantSpans(t, "request")
		l.read(t).want(t, snapshot{})
	})
}
