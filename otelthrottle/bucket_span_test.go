package otelthrottle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestEventsOfBuckets checks the event that each hook adds to the span of its caller. No event has
// the key of a bucket.
func TestEventsOfBuckets(t *testing.T) {
	const secret = "user 17"
	denied := func(e bucket.DenialEvent) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			e.Limiter, e.Key = l.limiter(t, bucket.Config{}), secret
			l.tel.BucketHooks().Denied(ctx, e)
		}
	}
	waited := func(d time.Duration, err error) func(context.Context, *lab) {
		return func(ctx context.Context, l *lab) {
			l.tel.BucketHooks().Waited(ctx, bucket.WaitEvent{
				Limiter: l.limiter(t, bucket.Config{}), Key: secret, Tokens: 2, Duration: d, Err: err,
			})
		}
	}
	for _, tt := range []struct {
		name string // its first word is that of the event
		call func(context.Context, *lab)
		want []any
	}{
		{
			"denied", denied(bucket.DenialEvent{Tokens: 3, RetryAfter: 1500 * time.Millisecond}),
			[]any{"throttle.bucket.tokens", 3, "throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.5},
		},
		{
			"denied by the policy", denied(bucket.DenialEvent{Tokens: 1, RetryAfter: time.Second, Source: bucket.SourcePolicy}),
			[]any{"throttle.bucket.tokens", 1, "throttle.bucket.source", "policy", "throttle.bucket.retry_after", 1.0},
		},
		{
			"denied without an answer", denied(bucket.DenialEvent{Tokens: 1, Source: bucket.SourcePolicy, Err: context.DeadlineExceeded}),
			[]any{"throttle.bucket.tokens", 1, "throttle.bucket.source", "policy", "error.type", "timeout"},
		},
		{
			"waited", waited(250*time.Millisecond, nil),
			[]any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 0.25},
		},
		{
			"waited in vain", waited(time.Second, context.Canceled),
			[]any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0, "error.type", "canceled"},
		},
		{
			"waited until it was closed", waited(time.Second, bucket.ErrClosed),
			[]any{"throttle.bucket.tokens", 2, "throttle.bucket.duration", 1.0, "error.type", "shed"},
		},
	} {
		event, _, _ := strings.Cut("throttle.bucket."+tt.name, " ")
		t.Run(tt.name, func(t *testing.T) {
			wantEvent(t, tt.call, event, append(tt.want, "throttle.bucket.name", "geocoder")...)
		})
	}
}

// TestLimitersTellTheirCallers makes the requests that add an event, with the limiter's own hooks.
func TestLimitersTellTheirCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		limiter := l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
		lost := l.limiter(t, bucket.Config{Store: newDoubtfulStore(errPlain), OnFailure: bucket.FailClosed})
		ctx, request := l.request(t.Context())
		equal(t, "granted", take(ctx, t, limiter, 2), 1)
		equal(t, "granted without a store", take(ctx, t, lost, 1), 0)
		if err := limiter.Wait(ctx, "", 1); err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := limiter.Wait(hurried, "", 1); !errors.Is(err, bucket.ErrDenied) {
			t.Errorf("Wait until too early: got error %v want %v", err, bucket.ErrDenied)
		}
		request.End()
		own := func(pairs ...any) []any {
			return append(pairs, "throttle.bucket.name", "geocoder", "throttle.bucket.tokens", 1)
		}
		want := []struct {
			event      string
			attributes []any
		}{
			{"throttle.bucket.denied", own("throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.0)},
			{"throttle.bucket.denied", own("throttle.bucket.source", "policy", "error.type", "_OTHER")},
			{"throttle.bucket.waited", own("throttle.bucket.duration", 1.0)},
			{"throttle.bucket.denied", own("throttle.bucket.source", "store", "throttle.bucket.retry_after", 1.0)},
			{"throttle.bucket.waited", own("throttle.bucket.duration", 0.0, "error.type", "shed")},
		}
		events := l.spanNamed(t, "request").Events()
		equal(t, "events", len(events), len(want))
		for i, e := range events[:min(len(events), len(want))] {
			equal(t, "event", e.Name, want[i].event)
			wantAttributes(t, e.Name, e.Attributes, want[i].attributes...)
		}
	})
}
