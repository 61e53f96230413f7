package stores_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// bucketFleet runs 3 handles x 64 goroutines, each until its func says false.
func (e *engine) bucketFleet(t testing.TB, name string, each func(b buckets, draw *rand.Rand) bool) {
	dsn := e.dsn(t)
	var all sync.WaitGroup
	handles := make([]buckets, 3)
	for h := range handles {
		handles[h] = e.buckets(t, dsn, name, "fleet_")
		if e.dialect != sqlstore.SQLite {
			handles[h].db.SetMaxOpenConns(8)
			handles[h].db.SetMaxIdleConns(8)
		}
	}
	for h, b := range handles {
		for g := range 64 {
			draw := rand.New(rand.NewPCG(uint64(h), uint64(g)))
			all.Go(func() {
				for each(b, draw) {
				}
			})
		}
	}
	all.Wait()
}

// losesBuckets deletes rows while others take from them: nobody gets an error.
func (e *engine) losesBuckets(t *testing.T) {
	var asked atomic.Int64
	limits := []bucket.Limit{bucket.PerSecond(5), {Capacity: 5, Refill: 5, Period: time.Millisecond, Algorithm: bucket.Fixed}}
	e.bucketFleet(t, fmt.Sprint("loss ", e.last.Add(1)), func(b buckets, draw *rand.Rand) bool {
		l, key := limits[draw.IntN(2)], fmt.Sprint(draw.IntN(3))
		var err error
		switch draw.IntN(16) {
		case 0:
			err = b.Reset(t.Context(), key)
		case 1:
			_, err = b.db.Exec(b.query("UPDATE {bucket} SET at_ns = 1, keep_ns = 0 WHERE name = ? AND id = ?"), []byte(b.name), []byte(key))
		case 2:
			_, err = b.Sweep(t.Context())
		case 3:
			err = b.Return(t.Context(), key, l, 1)
		default:
			_, err = b.Take(t.Context(), bucket.Request{Key: key, Limit: l, Min: 1, Max: 1 + draw.Int64N(3)})
		}
		if err != nil {
			t.Error(err)
		}
		return err == nil && asked.Add(1) < 4000
	})
}

func (e *engine) bucketsSurvive(t *testing.T, server sqlServer) {
	warm := e.buckets(t, e.dsn(t), "warm", "fault_")
	l := lasting(10, bucket.Continuous)
	take := func(want int64) {
		t.Helper()
		d, err := warm.Take(t.Context(), bucket.Request{Key: "kept", Limit: l, Min: 1, Max: 1})
		if err != nil || d.Remaining != want {
			t.Errorf("got %+v %v want %d left", d, err, want)
		}
	}
	answers := func() {
		t.Helper()
		program.Eventually(t, "the store answers", func() string {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := warm.Take(ctx, bucket.Request{Key: "other", Limit: l}); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	take(9)
	cold, err := sqlstore.NewBucket(e.open(t, e.dsn(t)), e.dialect, sqlstore.BucketConfig{Name: "cold", Prefix: "fault_"})
	if err != nil {
		t.Fatal(err)
	}
	server.Freeze(t)
	sqlFailsInTime(t, "frozen, with connections", func(ctx context.Context) map[string]error { return bucketSteps(ctx, warm.Bucket) })
	sqlFailsInTime(t, "frozen, without connections", func(ctx context.Context) map[string]error { return bucketSteps(ctx, cold) })
	server.Thaw(t)
	answers()
	take(8)
	server.Kill(t)
	sqlFailsInTime(t, "killed", func(ctx context.Context) map[string]error { return bucketSteps(ctx, warm.Bucket) })
	server.Restart(t)
	answers()
	take(7)
}
