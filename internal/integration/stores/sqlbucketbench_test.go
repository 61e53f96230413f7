package stores_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// BenchmarkSQLBuckets measures requests for a token against databases that do not wait for disks: by one caller, and by 64 of one bucket.
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
	store := e.buckets(b, e.dsn(b), "bench", "bench_")
	if e.dialect != sqlstore.SQLite {
		store.db.SetMaxOpenConns(32)
		store.db.SetMaxIdleConns(32)
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
		b.Run(c.name, func(b *testing.B) { store.benchCallers(b, c.limit, c.callers) })
	}
}

func (store buckets) benchCallers(b *testing.B, l bucket.Limit, callers int) {
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		n := (b.N + i) / callers
		all.Go(func() {
			for range n {
				if _, err := store.Take(b.Context(), bucket.Request{Key: b.Name(), Limit: l, Min: 1, Max: 1}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "takes/s")
}

// BenchmarkSQLBucketSweep measures a sweep of buckets of which none is full, and takes by one caller while the store sweeps all the time, and
// while it does not.
func BenchmarkSQLBucketSweep(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		server := program.Postgres(b)
		newEngine(sqlstore.PostgreSQL, "pgx", func(testing.TB) string { return server.DSN("") }).benchSweeps(b)
	})
	b.Run("mariadb", func(b *testing.B) {
		server := program.MariaDB(b)
		newEngine(sqlstore.MySQL, "mysql", func(testing.TB) string { return server.DSN("interpolateParams=true") }).benchSweeps(b)
	})
	b.Run("sqlite", func(b *testing.B) { newSQLite().benchSweeps(b) })
}

func (e *engine) benchSweeps(b *testing.B) {
	const rows = 20_000
	dsn := e.dsn(b)
	idle := e.buckets(b, dsn, "swept", "benchsweep_")
	for i := range rows {
		if _, err := idle.Take(b.Context(), bucket.Request{Key: fmt.Sprint("row ", i), Limit: lasting(5, bucket.Continuous), Min: 1, Max: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("20000 rows", func(b *testing.B) {
		for b.Loop() {
			if _, err := idle.Sweep(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	plenty := bucket.Limit{Capacity: 1e9, Refill: 1e6, Period: time.Second}
	b.Run("takes, never swept", func(b *testing.B) { idle.benchCallers(b, plenty, 1) })
	busy := e.bucketsWith(b, dsn, sqlstore.BucketConfig{Name: "swept", Prefix: "benchsweep_", SweepEvery: 1})
	b.Run("takes, swept all the time", func(b *testing.B) { busy.benchCallers(b, plenty, 1) })
}
