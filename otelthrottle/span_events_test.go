package otelthrottle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// event is what a call adds to the span of its caller.
type event struct {
	name    string // of the event, and what is special about the call
	call    func(context.Context, *lab)
	want    []any // nil for no event
	options []otelthrottle.Option
}

// bucketEvents have no key of a bucket, which may be data of a user.
func bucketEvents(t *testing.T) []event {
	denied := func(e bucket.DenialEvent) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			e.Limiter, e.Key = l.limiter(t, bucket.Config{}), "user 17"
			l.tel.BucketHooks().Denied(ctx, e)
		}
	}
	waited := func(err error) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			limiter := l.limiter(t, bucket.Config{})
			l.tel.BucketHooks().Waited(ctx, bucket.WaitEvent{Limiter: limiter, Key: "user 17", Tokens: 2, Duration: time.Second, Err: err})
		}
	}
	name := []any{"throttle.bucket.name", "geocoder"}
	return []event{
		{
			"throttle.bucket.denied", denied(bucket.DenialEvent{Tokens: 3, RetryAfter: 1500 * time.Millisecond}),
			append(name, "throttle.bucket.tokens", 3, "throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.5), nil,
		},
		{
			"throttle.bucket.denied without an answer", denied(bucket.DenialEvent{Tokens: 1, Source: bucket.SourcePolicy, Err: context.DeadlineExceeded}),
			append(name, "throttle.bucket.tokens", 1, "throttle.bucket.source", "policy", "error.type", "timeout"), nil,
		},
		{"throttle.bucket.waited", waited(nil), append(name, "throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0), nil},
		{
			"throttle.bucket.waited in vain", waited(bucket.ErrClosed),
			append(name, "throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0, "error.type", "shed"), nil,
		},
	}
}

func backoffEvents(t *testing.T) []event {
	slept := func(err error) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			r := l.backoff(t, backoff.Config{})
			l.tel.BackoffHooks().Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: 1500 * time.Millisecond, Err: err})
		}
	}
	always := []any{"throttle.backoff.name", "table", "throttle.backoff.duration", 1.5}
	return []event{
		{"throttle.backoff.slept", slept(nil), always, nil},
		{"throttle.backoff.slept until it was canceled", slept(context.Canceled), append(always, "error.type", "canceled"), nil},
		{"throttle.backoff.slept until it was closed", slept(backoff.ErrClosed), append(always, "error.type", "shed"), nil},
	}
}

// breakerEvents have the key only with detail.
func breakerEvents(t *testing.T) []event {
	shed := func(m throttle.Mode) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			manager, a := l.breaker(t, breaker.Config{Mode: m}), breaker.Key{Tenant: "acme", ID: "a"}
			disable(t, manager, a)
			_, _ = manager.CanExecute(ctx, a), manager.CanExecute(ctx, breaker.Key{ID: "b"})
		}
	}
	name := []any{"throttle.breaker.name", "webhooks", "throttle.breaker.state", "disabled"}
	return []event{
		{"throttle.breaker.shed", shed(throttle.ModeEnforce), name, nil},
		{
			"throttle.breaker.shed with detail", shed(throttle.ModeEnforce),
			append(name, "throttle.breaker.tenant", "acme", "throttle.breaker.key", "a"), detailed(),
		},
		{"throttle.breaker.shed in shadow", shed(throttle.ModeShadow), nil, detailed()},
	}
}

// TestSpan_events: a call adds one event to the span of its caller, and nothing else. The filter, which decides about calls through
// throttles, is not asked.
func TestSpan_events(t *testing.T) {
	tuned := event{"throttle.tuned", func(ctx context.Context, l *lab) { tuneMode(ctx, t, l) }, []any{
		"throttle.tuning.kind", "throttle", "throttle.tuning.name", "db", "throttle.tuning.source", "apply", "throttle.tuning.result", "applied",
		"throttle.tuning.values", "mode=off", "throttle.tuning.by", "ana", "throttle.tuning.reason", "INC-7",
	}, nil}
	for _, tt := range slices.Concat(bucketEvents(t), backoffEvents(t), breakerEvents(t), []event{tuned}) {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: append(tt.options, otelthrottle.WithRootSpans(), neverAsked(t))})
			ctx, request := l.request(t.Context())
			tt.call(ctx, l)
			equal(t, "caller's span records", request.IsRecording(), true)
			request.End()
			l.wantSpans(t, "request")
			l.wantEvents(t, tt.name, tt.want)
		})
	}
}

// TestSpan_eventsOfThrottles begins an alert, and sheds a call because its tenant takes too much.
func TestSpan_eventsOfThrottles(t *testing.T) {
	for _, tt := range []event{
		{"throttle.policy.changed", func(ctx context.Context, l *lab) {
			th := l.throttle(t, throttle.Config{Name: "db", Background: 0.1})
			for range 60 {
				_ = th.Do(ctx, throttle.Low, returns(context.DeadlineExceeded))
			}
		}, []any{"throttle.name", "db", "throttle.policy.alert", "ratio", "throttle.policy.background", 0.1}, []otelthrottle.Option{keepOnly("none")}},
		{"throttle.shed", func(ctx context.Context, l *lab) {
			th := l.throttle(t, throttle.Config{Name: "db"})
			l.tel.Hooks().Shed(ctx, throttle.ShedEvent{Throttle: th, Priority: throttle.Low, Cause: throttle.CauseOwn, Probability: 0.5, Tenant: true})
		}, []any{
			"throttle.name", "db", "throttle.priority", "low", "throttle.cause", "own", "throttle.rejection_probability", 0.5,
			"throttle.tenant.above", true,
		}, nil},
	} {
		l := newLab(t, setup{options: tt.options})
		ctx, request := l.request(t.Context())
		tt.call(ctx, l)
		request.End()
		l.wantEvents(t, tt.name, tt.want)
	}
}
