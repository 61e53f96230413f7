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

// TestHooksThatAreNotNeededAreNil spares throttles and limiters events that go nowhere: a nil hook
// costs nothing.
func TestHooksThatAreNotNeededAreNil(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []otelthrottle.Option
		want    string
	}{
		{"default", nil, "asked denied finished shed started waited"},
		{"without duration", []otelthrottle.Option{otelthrottle.WithoutDuration()}, "denied finished shed started waited"},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, "asked finished"},
		{"without both", []otelthrottle.Option{otelthrottle.WithoutDuration(), otelthrottle.WithoutSpans()}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: tt.options})
			h, b := l.tel.Hooks(), l.tel.BucketHooks()
			hooks := map[string]bool{
				"shed": h.Shed != nil, "started": h.Started != nil, "finished": h.Finished != nil, "fell back": h.FellBack != nil,
				"asked": b.StoreCalled != nil, "denied": b.Denied != nil, "waited": b.Waited != nil,
			}
			maps.DeleteFunc(hooks, func(_ string, set bool) bool { return !set })
			equal(t, "hooks", strings.Join(slices.Sorted(maps.Keys(hooks)), " "), tt.want)
			equal(t, "Created and Closed", h.Created != nil && h.Closed != nil && b.Created != nil && b.Closed != nil, true)
		})
	}
}

// TestHooksOfTheUsersMayPanic checks that the panic goes up, and that the books are in order.
func TestHooksOfTheUsersMayPanic(t *testing.T) {
	finished := func(context.Context, throttle.FinishEvent) { panic("disk full") }
	started := func(context.Context, throttle.StartEvent) context.Context { panic("disk full") }
	tests := []struct {
		name   string
		hooks  throttle.Hooks
		before bool // joined before the adapter's
		want   string
	}{
		{"Finished", throttle.Hooks{Finished: finished}, false, accepted(throttle.High)},
		{"Finished, joined first", throttle.Hooks{Finished: finished}, true, accepted(throttle.High)},
		{"Started", throttle.Hooks{Started: started}, false, panicked()},
		{"Started, joined first", throttle.Hooks{Started: started}, true, panicked()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{})
			hooks := throttle.JoinHooks(l.tel.Hooks(), tt.hooks)
			if tt.before {
				hooks = throttle.JoinHooks(tt.hooks, l.tel.Hooks())
			}
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
			ctx, request := l.request(t.Context())
			for range 3 {
				if got := survive(func() { _ = th.Do(ctx, throttle.High, succeed) }); got != "disk full" {
					t.Errorf("panic: got %v want disk full", got)
				}
			}
			equal(t, "caller's span records", request.IsRecording(), true)
			l.read(t).of(semconv.MetricCalls, semconv.MetricCallActive).positive().want(t, snapshot{tt.want: 3})
		})
	}
}

func panicked() string {
	return series(semconv.MetricCalls, "throttle.name", "db", "throttle.priority", "high",
		"throttle.decision", "admitted", "throttle.outcome", "ignored", "error.type", "panic")
}

// TestFunctionsOfTheUsersMayPanic has options whose functions panic in the first call.
func TestFunctionsOfTheUsersMayPanic(t *testing.T) {
	calls := 0
	panicsOnce := func() {
		if calls++; calls == 1 {
			panic("no such key")
		}
	}
	tests := []struct {
		name   string
		option otelthrottle.Option
	}{
		{"filter", otelthrottle.WithFilter(func(context.Context, string, throttle.Priority) bool { panicsOnce(); return true })},
		{"span name", otelthrottle.WithSpanNameFormatter(func(name string, _ throttle.Priority) string { panicsOnce(); return "throttle " + name })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls = 0
			l := newLab(t, setup{options: []otelthrottle.Option{tt.option}})
			th := l.throttle(t, throttle.Config{Name: "db"})
			ctx, request := l.request(t.Context())
			if got := survive(func() { _ = th.Do(ctx, throttle.High, succeed) }); got != "no such key" {
				t.Errorf("panic: got %v want no such key", got)
			}
			_ = th.Do(ctx, throttle.High, succeed)
			request.End()
			l.wantSpans(t, "throttle db", "request")
			l.read(t).of(semconv.MetricCalls, semconv.MetricCallActive).positive().want(t, snapshot{
				panicked(): 1, accepted(throttle.High): 1,
			})
		})
	}
}

// TestHooksThatAreJoinedTwiceCountOnce, and let go of what is closed.
func TestHooksThatAreJoinedTwiceCountOnce(t *testing.T) {
	eachSystem(t, func(t *testing.T, l *lab, s system) {
		first, second := s.start(l, manner{name: "a", twice: true}), s.start(l, manner{name: "a", twice: true})
		first.use(t.Context())
		second.use(t.Context())
		equal(t, "uses", l.read(t)[s.counter("a")], 2)
		_ = first.Close()
		equal(t, "uses, one closed", l.read(t)[s.counter("a")], 2)
		_ = second.Close()
		l.read(t).want(t, snapshot{})
	}, otelthrottle.WithoutDuration())
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
