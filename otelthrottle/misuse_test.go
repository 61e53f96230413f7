package otelthrottle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestShutdownEndsTheTelemetry and nothing else.
func TestShutdownEndsTheTelemetry(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	l.reject(t, th, throttle.Low, 60)
	times(2, th, throttle.High, nil)
	durations := l.read(t).of(otelthrottle.MetricCallDuration)
	for range 2 {
		if err := l.tel.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: got error %v want nil", err)
		}
	}
	ctx, request := l.request(t.Context())
	if err := th.Do(ctx, throttle.High, succeed); err != nil {
		t.Errorf("call after Shutdown: got error %v want nil", err)
	}
	l.shed(ctx, t, th, throttle.Low, 1)
	late := l.throttle(t, throttle.Config{Name: "late"})
	times(1, late, throttle.High, nil)
	_, _ = late.Close(), th.Close()
	request.End()

	l.wantSpans(t, "request")
	equal(t, "events on the caller's span", len(l.spanNamed(t, "request").Events()), 0)
	// The SDK keeps what has been pushed into a histogram until the MeterProvider is shut down.
	l.read(t).want(t, durations)
}

// TestShutdownWithACancelledContext ends the telemetry too: where nothing is sent, there is nothing to wait for.
func TestShutdownWithACancelledContext(t *testing.T) {
	l := newLab(t, setup{})
	l.throttle(t, throttle.Config{Name: "db"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.tel.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: got error %v want nil", err)
	}
	l.read(t).want(t, snapshot{})
}

// TestProvidersMayGoFirst shuts the providers down before the adapter.
func TestProvidersMayGoFirst(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	if err := errors.Join(l.meters.Shutdown(t.Context()), l.traces.Shutdown(t.Context())); err != nil {
		t.Fatalf("Shutdown of the providers: got error %v want nil", err)
	}
	ctx, _ := l.request(t.Context())
	if err := th.Do(ctx, throttle.High, succeed); err != nil {
		t.Errorf("call: got error %v want nil", err)
	}
	if err := errors.Join(l.tel.Shutdown(t.Context()), th.Close()); err != nil {
		t.Errorf("Shutdown and Close: got error %v want nil", err)
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
