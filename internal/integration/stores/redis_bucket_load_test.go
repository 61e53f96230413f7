package stores_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestRedisBucket_LostNode kills one of three nodes. The keys of the other nodes must be decided by
// the store as before.
func TestRedisBucket_LostNode(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	store := redisBucket(t, redisClient(t, servers...), "b")
	l := bucket.Must(bucket.New(bucket.Config{
		Name: "b", Store: store, Limit: bucket.PerSecond(1e6), StoreTimeout: 400 * time.Millisecond, // the machine is busy with other tests
	}))
	defer l.Close()
	if err := l.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := map[string]bool{}
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
