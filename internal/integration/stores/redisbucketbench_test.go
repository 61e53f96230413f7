package stores_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// BenchmarkRedisBucket measures takes that are granted and that are denied, by one caller, and by 64 on one bucket, one by one.
func BenchmarkRedisBucket(b *testing.B) {
	_, _, store := newRedisBucket(b)
	plenty := bucket.Limit{Capacity: 1 << 50, Refill: int64(time.Second), Period: time.Second}
	for _, c := range []struct {
		name    string
		r       bucket.Request
		callers int
	}{
		{"Granted", bucket.Request{Key: "plenty", Limit: plenty, Min: 1, Max: 1}, 1},
		{"GrantedAPart", bucket.Request{Key: "half", Limit: bucket.Limit{Capacity: 9, Refill: 1e6, Period: time.Second}, Min: 0, Max: 10}, 1},
		{"Denied", bucket.Request{Key: "few", Limit: slowly(1), Min: 1, Max: 1}, 1},
		{"Granted64Callers", bucket.Request{Key: "plenty", Limit: plenty, Min: 1, Max: 1}, 64},
		{"Denied64Callers", bucket.Request{Key: "few", Limit: slowly(1), Min: 1, Max: 1}, 64},
		{"Fixed64Callers", bucket.Request{
			Key: "fixed", Limit: bucket.Limit{Capacity: 1 << 50, Period: time.Hour, Algorithm: bucket.Fixed}.WithDefaults(), Min: 1, Max: 1,
		}, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			took := make([]time.Duration, b.N)
			var all sync.WaitGroup
			for range c.callers {
				all.Go(func() {
					for i := left.Add(-1); i >= 0; i = left.Add(-1) {
						begun := time.Now()
						if _, err := store.Take(b.Context(), c.r); err != nil {
							b.Error(err)
							return
						}
						took[i] = time.Since(begun)
					}
				})
			}
			all.Wait()
			slices.Sort(took)
			b.ReportMetric(took[b.N/2].Seconds()*1e6, "p50-us")
			b.ReportMetric(took[b.N*99/100].Seconds()*1e6, "p99-us")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "takes/s")
		})
	}
}
