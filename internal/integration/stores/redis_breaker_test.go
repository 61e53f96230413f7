package stores_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
	bucketstoretest "github.com/spillway-go/spillway/throttle/bucket/storetest"
)

// TestRedis_RoundTrips checks that a refresh without changes takes at most one round trip.
func TestRedis_RoundTrips(t *testing.T) {
	_, client, store := newRedis(t)
	bucket := bucketSteps(redisBucket(client, "b"))
	breakerSteps(store).wantWorks(t)
	bucket.wantWorks(t) // the server knows the scripts after this
	all := make([]int, breakerstore.NumShards)
	for i := range all {
		all[i] = i
	}
	three := make([]breakerstore.ProbeRequest, 300)
	for i := range three {
		three[i] = breakerstore.ProbeRequest{Generation: uint64(i), Since: time.Unix(1, 0), Every: time.Minute, Budget: 1, Want: 1}
	}
	counted := &redisTrips{}
	client.AddHook(counted)
	for _, c := range []struct {
		name string
		step func() error
		want redisTrips
	}{
		{"versions", func() error { _, err := store.Versions(t.Context()); return err }, redisTrips{65, 1}},
		{"load all", func() error { _, err := store.Load(t.Context(), all); return err }, redisTrips{64, 1}},
		{"load none", func() error { _, err := store.Load(t.Context(), nil); return err }, redisTrips{0, 0}},
		{"apply", func() error {
			_, err := store.Apply(t.Context(), breakerstore.Batch{Shard: 2, Changes: []breakerstore.Change{{Data: []byte("x")}, {ID: redisRecord(2)}}})
			return err
		}, redisTrips{1, 1}},
		{"campaign", func() error {
			_, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
			return err
		}, redisTrips{1, 1}},
		{"resign", func() error { return store.Resign(t.Context(), breakerstore.Lease{}) }, redisTrips{1, 1}},
		{"300 probes", func() error { _, err := store.Probe(t.Context(), three); return err }, redisTrips{2, 2}},
		{"no probes", func() error { _, err := store.Probe(t.Context(), nil); return err }, redisTrips{0, 0}},
		{"take", func() error { return bucket["take"](t.Context()) }, redisTrips{1, 1}},
		{"return", func() error { return bucket["return"](t.Context()) }, redisTrips{1, 1}},
		{"reset", func() error { return bucket["reset"](t.Context()) }, redisTrips{1, 1}},
	} {
		*counted = redisTrips{}
		if err := c.step(); err != nil || *counted != c.want {
			t.Errorf("%s: got error %v and %+v want %+v", c.name, err, *counted, c.want)
		}
	}
}

// TestRedis_ProbesExpire checks that counters of probes have a time to live, and no other key has one.
func TestRedis_ProbesExpire(t *testing.T) {
	_, client, store := newRedis(t)
	breakerSteps(store).wantWorks(t)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 {
		t.Fatalf("got keys %q, error %v want a lease, a shard and a counter", keys, err)
	}
	for _, key := range keys {
		ttl, err := client.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if mortal := strings.Contains(key, ":probes:"); mortal != (ttl > 0) || ttl > time.Minute+2*time.Second {
			t.Errorf("%s: got time to live %v", key, ttl)
		}
	}
}

// TestRedis_Conformance runs the suites of all stores on a server and on a cluster. Each storage is a
// name, each handle a client. Clients take turns with RESP2 and RESP3.
func TestRedis_Conformance(t *testing.T) {
	t.Parallel()
	for kind, servers := range map[string][]*program.RedisServer{"plain": {program.Redis(t)}, "cluster": program.RedisCluster(t, 3)} {
		var clients atomic.Int64
		client := func(t *testing.T) redis.UniversalClient {
			options := redisOptions(servers...)
			options.Protocol = int(2 + clients.Add(1)%2)
			return redisClientWith(t, options)
		}
		t.Run(kind+", breaker", func(t *testing.T) {
			storages := 0
			storetest.Run(t, func(t *testing.T) func() breakerstore.Store {
				storages++
				name := fmt.Sprintf("storage {%d}/\x00\xff", storages)
				return func() breakerstore.Store { return redisStore(client(t), name) }
			})
		})
		t.Run(kind+", bucket", func(t *testing.T) {
			bucketstoretest.Run(t, func(t *testing.T) func() bucketstore.Store {
				return func() bucketstore.Store { return redisBucket(client(t), "conforms {\x00\xff}") }
			})
		})
	}
}
