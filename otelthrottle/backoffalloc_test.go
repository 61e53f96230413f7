//go:build !race

// Under the race detector the SDK allocates more: allocations are counted without it.

package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestBackoffsAllocateNothing tells the hooks of everything there is to tell, with metrics on.
func TestBackoffsAllocateNothing(t *testing.T) {
	l := newLab(t, setup{sampler: sdktrace.ParentBased(sdktrace.NeverSample())})
	unsampled, _ := l.request(context.Background())
	h, r := l.tel.BackoffHooks(), l.backoff(t, backoff.Config{})
	for _, tt := range []struct {
		name string
		tell func(context.Context)
	}{
		{"slept", func(ctx context.Context) { h.Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Second}) }},
		{"slept in vain", func(ctx context.Context) { h.Slept(ctx, backoff.SleepEvent{Responsive: r, Err: context.Canceled}) }},
		{"a call that need not wait", func(ctx context.Context) {
			p, _ := r.Wait(ctx)
			p.Done(backoff.Success)
		}},
	} {
		for where, ctx := range map[string]context.Context{"no span": context.Background(), "unsampled": unsampled} {
			t.Run(where+"/"+tt.name, func(t *testing.T) { wantAllocs(t, 0, func() { tt.tell(ctx) }) })
		}
	}
}

// TestSleepUnderASampledSpanAllocatesNothing keeps an exemplar each time, and adds no event.
func TestSleepUnderASampledSpanAllocatesNothing(t *testing.T) {
	l := newLab(t, setup{})
	ctx, request := l.request(context.Background())
	request.End() // is sampled still, and records no more
	h, r := l.tel.BackoffHooks(), l.backoff(t, backoff.Config{})
	wantAllocs(t, 0, func() { h.Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Millisecond}) })
}
