package stores_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/storetest"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// TestRedisBucketConforms runs the suite of all stores on a server and on a cluster. Each handle has a client of its own.
func TestRedisBucketConforms(t *testing.T) {
	for kind, servers := range map[string][]*program.RedisServer{"plain": {program.Redis(t)}, "cluster": program.RedisCluster(t, 3)} {
		t.Run(kind, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) bucket.Store {
				return redisBucket(t, redisClient(t, servers...), "conforms {\x00\xff}")
			})
		})
	}
}

// bucketsConform runs the suite of all stores. Each handle has connections of its own, and sweeps all the time.
func (e *engine) bucketsConform(t *testing.T) {
	dsn, name := e.dsn(t), fmt.Sprintf("conforms %d \x00\xff'\"`%%?$1", e.last.Add(1))
	storetest.Run(t, func(t *testing.T) bucket.Store {
		b := e.bucketsWith(t, dsn, sqlstore.BucketConfig{Name: name, Prefix: "conforms_", SweepEvery: time.Millisecond})
		if e.dialect != sqlstore.SQLite {
			b.db.SetMaxOpenConns(8) // servers of tests allow a hundred
		}
		return b.Bucket
	}, storetest.ClockResolution(e.step()))
}
