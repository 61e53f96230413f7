package stores_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// patient is a timeout for a machine that is busy with other tests.
const patient = 400 * time.Millisecond

// redisLimiter returns a limiter with a store in Redis, after Warm.
func redisLimiter(t *testing.T, client redis.UniversalClient, limit bucket.Limit, timeout time.Duration) *bucket.Limiter {
	t.Helper()
	l := bucket.Must(bucket.New(bucket.Config{Name: "b", Store: redisBucket(t, client, "b"), Limit: limit, StoreTimeout: timeout}))
	t.Cleanup(func() { l.Close() })
	if err := l.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRedisBucket_LostNode kills one of three nodes. The keys of the other nodes must be decided by
// the store as before.
func TestRedisBucket_LostNode(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	client := redisClient(t, servers...)
	l := redisLimiter(t, client, bucket.PerSecond(1e6), patient)
	lost := map[string]bool{}
	store := redisBucket(t, client, "b")
	for i := range 300 {
		key := strconv.Itoa(i)
		lost[key] = store.Part(key) == servers[1].Address
	}
	servers[1].Kill(t)
	var byStore, byPolicy, lostByStore atomic.Int64
	var all sync.WaitGroup
	for i := range 6000 {
		key := strconv.Itoa(i % len(lost))
		all.Go(func() {
			d, err := l.Decide(t.Context(), key)
			switch {
			case err != nil:
				t.Errorf("key %s: %v", key, err)
			case lost[key] && d.Source == bucket.SourceStore:
				lostByStore.Add(1)
			case lost[key]:
			case d.Source == bucket.SourceStore:
				byStore.Add(1)
			default:
				byPolicy.Add(1)
			}
		})
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	t.Logf("healthy nodes: %d by the store, %d by the policy; lost node: %d by the store", byStore.Load(), byPolicy.Load(), lostByStore.Load())
	if n := byStore.Load(); n == 0 || byPolicy.Load()*100 > n || lostByStore.Load() > 0 {
		t.Error("want 99 % of the keys of healthy nodes by the store, and none of the lost node")
	}
}

// TestRedisBucket_Warm checks that the first second after Warm is decided by the store.
func TestRedisBucket_Warm(t *testing.T) {
	server := program.Redis(t)
	l := redisLimiter(t, redisClientWith(t, redisstore.Options(server.Address)), bucket.PerSecond(1e6), patient)
	var byPolicy atomic.Int64
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			if d, _ := l.Decide(t.Context(), strconv.Itoa(i)); d.Source != bucket.SourceStore {
				byPolicy.Add(1)
			}
		})
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	if n := byPolicy.Load(); n > 10 {
		t.Errorf("%d of 1000 requests were decided by the policy, want at most 10", n)
	}
}
