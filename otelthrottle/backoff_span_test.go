package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
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
