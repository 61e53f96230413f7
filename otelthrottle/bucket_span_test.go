package otelthrottle_test

import (
	"context"
	"strings"
	"testing"
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
