package stores_test

import (
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// TestPostgresBucket_Pools asks with 64 callers and many keys. The store must not open connections
// again and again, also with the default pool of database/sql, which keeps two. How many requests
// PostgreSQL decides in time depends on the machine; it was one in fifty when it did.
func TestPostgresBucket_Pools(t *testing.T) {
	dsn := program.Postgres(t).DSN("")
	for name, c := range map[string]struct {
		size   int
		warmUp time.Duration
	}{"default": {0, time.Second}, "8, warm": {8, 0}} {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(c.size)
			db.SetMaxIdleConns(max(2, c.size))
			store, err := sqlstore.NewBucket(db, sqlstore.PostgreSQL, sqlstore.BucketConfig{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.CreateSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := bucket.Must(bucket.New(bucket.Config{Name: "b", Store: store, Limit: bucket.PerSecond(1e6)}))
			defer l.Close()
			if c.warmUp == 0 {
				if err := l.Warm(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var byStore, byPolicy atomic.Int64
			var all sync.WaitGroup
			begun := time.Now()
			for i := range 64 {
				all.Go(func() {
					for n := 0; time.Since(begun) < c.warmUp+2*time.Second; n++ {
						d, err := l.Decide(t.Context(), strconv.Itoa((i*31+n)%4000))
						switch {
						case err != nil:
							t.Error(err)
						case time.Since(begun) < c.warmUp:
						case d.Source == bucket.SourceStore:
							byStore.Add(1)
						default:
							byPolicy.Add(1)
						}
						time.Sleep(50 * time.Millisecond)
					}
				})
			}
			all.Wait()
			closed := db.Stats().MaxIdleClosed
			t.Logf("%d by the store, %d by the policy, %d connections closed", byStore.Load(), byPolicy.Load(), closed)
			if byStore.Load()*4 < byPolicy.Load() || closed > 10 {
				t.Error("want a fifth by the store or more, and few connections closed")
			}
		})
	}
}
