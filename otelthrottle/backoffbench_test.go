package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// BenchmarkBackoffHooks is what the hooks of a backoff add to a wait, and to a call that need not wait.
func BenchmarkBackoffHooks(b *testing.B) {
	tel, _ := newBench(b)
	h := tel.BackoffHooks()
	r := backoff.Must(backoff.New(backoff.Config{Name: "table", Hooks: h}))
	hooks := map[string]func(context.Context){
		"slept": func(ctx context.Context) { h.Slept(ctx, backoff.SleepEvent{Responsive: r, Duration: time.Millisecond}) },
		"no wait": func(ctx context.Context) {
			p, _ := r.Wait(ctx)
			p.Done(backoff.Success)
		},
	}
	for where, ctx := range map[string]context.Context{
		"no span": context.Background(), "unsampled": under(sdktrace.NeverSample()), "sampled": under(sdktrace.AlwaysSample()),
	} {
		for name, tell := range hooks {
			b.Run(name+"/"+where, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					tell(ctx)
				}
			})
		}
	}
}
