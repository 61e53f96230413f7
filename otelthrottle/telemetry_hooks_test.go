package otelthrottle_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
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

// TestHooksThatAreJoinedTwiceCountOnce of whatever kind, and let go of what is closed.
func TestHooksThatAreJoinedTwiceCountOnce(t *testing.T) {
	tests := []struct {
		name  string
		calls func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error }
		want  string
	}{
		{"throttle", func(_ *testing.T, _ *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			same := tel.Hooks()
			th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: throttle.JoinHooks(same, same)}))
			times(1, th, throttle.High, nil)
			return th
		}, accepted(throttle.High)},
		{"throttle, hooks made twice", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			th := l.throttle(t, throttle.Config{Name: "db", Hooks: tel.Hooks()})
			times(1, th, throttle.High, nil)
			return th
		}, accepted(throttle.High)},
		{"breaker", func(t *testing.T, _ *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			m := throttle.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: breaker.JoinHooks(tel.BreakerHooks(), tel.BreakerHooks())}))
			admit(t, m, breaker.Key{ID: "a"})
			return m
		}, decided("admitted", breaker.Closed)},
		{"bucket", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			limiter := l.limiter(t, bucket.Config{Hooks: tel.BucketHooks()})
			take(t.Context(), t, limiter, 1)
			return limiter
		}, requests(otelthrottle.ResultGranted)},
		{"backoff", func(t *testing.T, l *lab, tel *otelthrottle.Telemetry) interface{ Close() error } {
			r := l.backoff(t, backoff.Config{Hooks: tel.BackoffHooks()})
			end(t.Context(), t, r, backoff.Success)
			return r
		}, ended("success")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithoutDuration()}})
			first := tt.calls(t, l, l.tel)
			equal(t, tt.want, l.read(t)[tt.want], 1)
			second := tt.calls(t, l, l.tel)
			equal(t, tt.want+", of two", l.read(t)[tt.want], 2)
			_ = first.Close()
			equal(t, tt.want+", one closed", l.read(t)[tt.want], 2)
			_ = second.Close()
			l.read(t).want(t, snapshot{})
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
			l.read(t).of(otelthrottle.MetricCalls, otelthrottle.MetricCallActive).positive().want(t, snapshot{tt.want: 3})
		})
	}
}

func panicked() string {
	return series(otelthrottle.MetricCalls, "throttle.name", "db", "throttle.priority", "high",
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
			l.read(t).of(otelthrottle.MetricCalls, otelthrottle.MetricCallActive).positive().want(t, snapshot{
				panicked(): 1, accepted(throttle.High): 1,
			})
		})
	}
}

// TestHooksWithoutCreated know no throttle: they say nothing, and harm nobody.
func TestHooksWithoutCreated(t *testing.T) {
	l := newLab(t, setup{})
	hooks := l.tel.Hooks()
	hooks.Created = nil
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
	ctx, request := l.request(t.Context())
	if err := th.Do(ctx, throttle.High, succeed); err != nil {
		t.Errorf("call: got error %v want nil", err)
	}
	_ = th.Close()
	equal(t, "caller's span records", request.IsRecording(), true)
	request.End()
	l.wantSpans(t, "request")
	l.read(t).want(t, snapshot{})
}
