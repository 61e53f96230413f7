package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// BenchmarkBucketHooks is what the hooks of a limiter add: to a question to its store, to a denial, and to a wait.
func BenchmarkBucketHooks(b *testing.B) {
	tel, _ := newBench(b)
	h := tel.BucketHooks()
	l := bucket.Must(bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(1), Hooks: h}))
	hooks := map[string]func(context.Context){
		"asked":  func(ctx context.Context) { h.Asked(ctx, bucket.StoreEvent{Limiter: l, Duration: time.Millisecond}) },
		"denied": func(ctx context.Context) { h.Denied(ctx, bucket.DenialEvent{Limiter: l, Tokens: 1}) },
		"waited": func(ctx context.Context) { h.Waited(ctx, bucket.WaitEvent{Limiter: l, Tokens: 1}) },
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
