package bucket_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// BenchmarkTake measures one token, granted or denied, of a bucket in memory.
func BenchmarkTake(b *testing.B) {
	for name, limit := range map[string]bucket.Limit{"granted": {Capacity: 1e9, Refill: 1e9}, "denied": bucket.Every(1e15)} {
		l := bucket.Must(bucket.New(bucket.Config{Name: "bench", Limit: limit}))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = l.Decide(context.Background(), "key")
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _ = l.Decide(context.Background(), "key")
				}
			})
		})
	}
}
