//go:build !race

// Under the race detector the SDK allocates more: allocations are counted without it.

package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestBucketsAllocateNothing tells the hooks of everything there is to tell, with metrics on.
func TestBucketsAllocateNothing(t *testing.T) {
	l := newLab(t, setup{sampler: sdktrace.ParentBased(sdktrace.NeverSample())})
	unsampled, _ := l.request(context.Background())
	h, limiter := l.tel.BucketHooks(), l.limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
	bare := bucket.Must(bucket.New(bucket.Config{Name: "bare", Limit: bucket.PerSecond(1)}))
	ask := func(l *bucket.Limiter) func(context.Context) {
		return func(ctx context.Context) { _, _ = l.Allow(ctx, "") }
	}
	for _, tt := range []struct {
		name string
		tell func(context.Context)
	}{
		{"denied", func(ctx context.Context) { h.Denied(ctx, bucket.DenialEvent{Limiter: limiter, Tokens: 1}) }},
		{"denied for want of an answer", func(ctx context.Context) { h.Denied(ctx, bucket.DenialEvent{Limiter: limiter, Err: errPlain}) }},
		{"waited", func(ctx context.Context) { h.Waited(ctx, bucket.WaitEvent{Limiter: limiter, Duration: time.Second}) }},
		{"waited in vain", func(ctx context.Context) { h.Waited(ctx, bucket.WaitEvent{Limiter: limiter, Err: context.Canceled}) }},
		{"asked", func(ctx context.Context) {
			h.Asked(ctx, bucket.StoreEvent{Limiter: limiter, Duration: time.Millisecond})
		}},
		{"asked in vain", func(ctx context.Context) {
			h.Asked(ctx, bucket.StoreEvent{Limiter: limiter, Err: context.DeadlineExceeded})
		}},
		{"a denial of a bucket in memory", ask(limiter)},
		{"the same without hooks", ask(bare)},
	} {
		for where, ctx := range map[string]context.Context{"no span": context.Background(), "unsampled": unsampled} {
			t.Run(where+"/"+tt.name, func(t *testing.T) { wantAllocs(t, 0, func() { tt.tell(ctx) }) })
		}
	}
}

// TestAskedUnderASampledSpanAllocatesNothing keeps an exemplar each time.
func TestAskedUnderASampledSpanAllocatesNothing(t *testing.T) {
	l := newLab(t, setup{})
	ctx, _ := l.request(context.Background())
	h, limiter := l.tel.BucketHooks(), l.limiter(t, bucket.Config{})
	wantAllocs(t, 0, func() { h.Asked(ctx, bucket.StoreEvent{Limiter: limiter, Duration: time.Millisecond}) })
}
