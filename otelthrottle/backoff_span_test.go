package otelthrottle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestEventsOfBackoffs checks the event that a wait adds to the span of its caller.
func TestEventsOfBackoffs(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want []any
	}{
		{"the wait is over", nil, nil},
		{"the context is canceled", context.Canceled, []any{"error.type", "canceled"}},
		{"the deadline came first", context.DeadlineExceeded, []any{"error.type", "timeout"}},
		{"the backoff is closed", backoff.ErrClosed, []any{"error.type", "shed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantEvent(t, func(ctx context.Context, l *lab) {
				r := l.backoff(t, backoff.Config{})
				l.tel.BackoffHooks().Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: 1500 * time.Millisecond, Err: tt.err})
			}, "throttle.backoff.slept", append(tt.want, "throttle.backoff.name", "table", "throttle.backoff.duration", 1.5)...)
		})
	}
}

// TestBackoffsTellTheirCallers waits in every way, each in a request of its own, in both modes.
func TestBackoffsTellTheirCallers(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, setup{})
				r := l.backoff(t, backoff.Config{Mode: mode})
				told := func(name string, something func(context.Context)) (duration float64, errorType string) {
					ctx, request := l.tracer.Start(t.Context(), name)
					something(ctx)
					request.End()
					for _, e := range l.spanNamed(t, name).Events() {
						set := attribute.NewSet(e.Attributes...)
						d, _ := set.Value("throttle.backoff.duration")
						kind, _ := set.Value(semconv.KeyErrorType)
						duration, errorType = duration+d.AsFloat64(), errorType+kind.AsString()
					}
					return duration, errorType
				}
				for _, tt := range []struct {
					name      string
					do        func(context.Context)
					duration  float64
					errorType string
				}{
					{"no delay", func(ctx context.Context) { end(ctx, t, r, throttled) }, 0, ""},
					{"a second", func(ctx context.Context) { end(ctx, t, r, backoff.Success) }, 1, ""},
					{"given up", func(ctx context.Context) { giveUp(ctx, t, r) }, 0, "canceled"},
					{"not again", func(ctx context.Context) {
						if err := r.SleepOnSuccess(ctx); err != nil {
							t.Errorf("SleepOnSuccess: got error %v want nil", err)
						}
					}, 1, ""},
				} {
					duration, errorType := told(tt.name, tt.do)
					if duration != tt.duration || errorType != tt.errorType {
						t.Errorf("%s: got %v s and error.type %q want %v s and %q", tt.name, duration, errorType, tt.duration, tt.errorType)
					}
				}
				_ = r.Close()
				if _, err := r.Wait(t.Context()); !errors.Is(err, backoff.ErrClosed) {
					t.Errorf("Wait: got error %v want %v", err, backoff.ErrClosed)
				}
			})
		})
	}
}

// TestBackoffHooksAreOnlyThoseNeeded: without durations and spans, there is no Slept hook.
func TestBackoffHooksAreOnlyThoseNeeded(t *testing.T) {
	for _, tt := range []struct {
		name           string
		options        []otelthrottle.Option
		events, record int
	}{
		{"default", nil, 1, 1},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, 0, 1},
		{"without durations", []otelthrottle.Option{otelthrottle.WithoutDuration()}, 1, 0},
		{"without either", []otelthrottle.Option{otelthrottle.WithoutSpans(), otelthrottle.WithoutDuration()}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: tt.options})
			slept, r := l.tel.BackoffHooks().Slept, l.backoff(t, backoff.Config{})
			equal(t, "tells of waits", slept != nil, tt.events+tt.record > 0)
			if slept == nil {
				return
			}
			ctx, request := l.request(t.Context())
			slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Second})
			request.End()
			equal(t, "events", len(l.spanNamed(t, "request").Events()), tt.events)
			equal(t, "recorded", l.read(t)[sleeps], float64(tt.record))
		})
	}
}
