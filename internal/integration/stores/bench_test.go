package stores_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// BenchmarkRedisBucket measures takes that are granted and that are denied, by one caller, and by 64 on one bucket, one by one.
func BenchmarkRedisBucket(b *testing.B) {
	_, _, redis := newRedisBucket(b)
	plenty := bucket.Limit{Capacity: 1 << 50, Refill: int64(time.Second), Period: time.Second}
	for _, c := range []struct {
		name    string
		r       store.Request
		callers int
	}{
		{"Granted", store.Request{Key: "plenty", Limit: plenty, Min: 1, Max: 1}, 1},
		{"GrantedAPart", store.Request{Key: "half", Limit: bucket.Limit{Capacity: 9, Refill: 1e6, Period: time.Second}, Min: 0, Max: 10}, 1},
		{"Denied", store.Request{Key: "few", Limit: slowly(1), Min: 1, Max: 1}, 1},
		{"Granted64Callers", store.Request{Key: "plenty", Limit: plenty, Min: 1, Max: 1}, 64},
		{"Denied64Callers", store.Request{Key: "few", Limit: slowly(1), Min: 1, Max: 1}, 64},
		{"Fixed64Callers", store.Request{
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
						if _, err := redis.Take(b.Context(), c.r); err != nil {
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

// BenchmarkSQLBuckets measures takes on databases that do not flush commits to disk: by one caller, and by
// 64 callers of one bucket.
func BenchmarkSQLBuckets(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		server := program.Postgres(b)
		newEngine(sqlstore.PostgreSQL, "pgx", func(testing.TB) string { return server.DSN("") }).benchBuckets(b)
	})
	b.Run("mariadb", func(b *testing.B) {
		server := program.MariaDB(b)
		newEngine(sqlstore.MySQL, "mysql", func(testing.TB) string { return server.DSN("interpolateParams=true") }).benchBuckets(b)
	})
	b.Run("sqlite", func(b *testing.B) { newSQLite().benchBuckets(b) })
}

func (e *engine) benchBuckets(b *testing.B) {
	shared := e.buckets(b, e.dsn(b), "bench", "bench_")
	if e.dialect != sqlstore.SQLite {
		shared.db.SetMaxOpenConns(32)
		shared.db.SetMaxIdleConns(32)
	}
	for _, c := range []struct {
		name    string
		limit   bucket.Limit
		callers int
	}{
		{"continuous, 1 caller", bucket.Limit{Capacity: 1e9, Refill: 1e6, Period: time.Second}, 1},
		{"continuous, 64 callers", bucket.Limit{Capacity: 1e9, Refill: 1e6, Period: time.Second}, 64},
		{"fixed, 1 caller", bucket.Limit{Capacity: 1 << 40, Refill: 1 << 40, Period: time.Hour, Algorithm: bucket.Fixed}, 1},
		{"fixed, 64 callers", bucket.Limit{Capacity: 1 << 40, Refill: 1 << 40, Period: time.Hour, Algorithm: bucket.Fixed}, 64},
		{"denied, 1 caller", lasting(1, bucket.Continuous), 1},
		{"denied, 64 callers", lasting(1, bucket.Continuous), 64},
	} {
		b.Run(c.name, func(b *testing.B) { shared.benchCallers(b, c.limit, c.callers) })
	}
}

func (shared buckets) benchCallers(b *testing.B, l bucket.Limit, callers int) {
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		n := (b.N + i) / callers
		all.Go(func() {
			for range n {
				if _, err := shared.Take(b.Context(), store.Request{Key: b.Name(), Limit: l, Min: 1, Max: 1}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "takes/s")
}
