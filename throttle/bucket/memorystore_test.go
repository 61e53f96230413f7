package bucket

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestMemoryStore_BucketIDs checks that different keys have different IDs, also if a key is the ID
// of another.
func TestMemoryStore_BucketIDs(t *testing.T) {
	long := strings.Repeat("k", maxKey+1)
	seen := map[string]string{}
	for _, key := range []string{"", "k", long[1:], long, long + "k", bucketID(long), bucketID(bucketID(long)), bucketID(long)[keyPrefix:]} {
		id := bucketID(key)
		if other, taken := seen[id]; taken {
			t.Errorf("%q and %q: got the same bucket", key, other)
		}
		seen[id] = key
		if len(key) <= maxKey && id != key {
			t.Errorf("%q: got %q want it as it is", key, id)
		}
		if len(id) > maxKey+1 {
			t.Errorf("%q: got %d bytes want at most %d", key, len(id), maxKey+1)
		}
	}
}

// emptied returns a store, and an empty bucket of it.
func emptied(t *testing.T, l Limit) (*MemoryStore, *memoryBucket) {
	t.Helper()
	s := NewMemoryStore()
	if _, err := s.Take(t.Context(), store.Request{Key: "k", Limit: l, Min: l.Capacity, Max: l.Capacity}); err != nil {
		t.Fatal(err)
	}
	p, hash := s.shard("k")
	return s, p.find(hash, "k")
}

// TestMemoryBucket_EarlierClockThanReset checks that a take finds a full bucket after a reset, though
// it has read the clock before the reset.
func TestMemoryBucket_EarlierClockThanReset(t *testing.T) {
	limit := rated(Per(10, 24*time.Hour))
	s, b := emptied(t, limit.Limit)
	before := s.now()
	if err := s.Reset(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	var d Decision
	if !b.take(&limit.rate, before, 0, 0, &d) || d.Remaining != 10 || d.ResetAfter != 0 {
		t.Errorf("got %+v want a full bucket", d)
	}
}

// TestMemoryStore_OneKey takes tokens of one key by many goroutines, while buckets of other keys
// come and go. No more may be granted than the capacity and the refill since the first take.
func TestMemoryStore_OneKey(t *testing.T) {
	const workers, each = 8, 20_000
	for _, l := range []Limit{
		{Capacity: 1, Refill: 1e6}, {Capacity: 3, Refill: 1e9}, {Capacity: 50, Refill: 1e5}, {Capacity: workers * each / 2, Refill: 1, Period: time.Hour},
	} {
		s, limit, others := NewMemoryStore(), rated(l), rated(PerSecond(1e9))
		var granted atomic.Int64
		var ready, all sync.WaitGroup
		ready.Add(workers)
		begin := s.now()
		for w := range workers {
			all.Go(func() {
				ready.Done()
				ready.Wait()
				var d Decision
				for i := range each {
					s.take("k", &limit, 1, min(l.Capacity, 2), &d)
					granted.Add(d.Granted)
					if w == 0 {
						s.take(fmt.Sprint(i), &others, 1, 1, &d)
					}
				}
			})
		}
		all.Wait()
		refilled := (s.now() - begin) / int64(limit.Interval())
		if got, most := granted.Load(), l.Capacity+refilled; got > most || got < l.Capacity {
			t.Errorf("%v: got %d tokens granted want at least %d and at most %d", l, got, l.Capacity, most)
		}
	}
}

// TestMemoryStore_ForgetsUnusedKeys checks that the memory store removes full buckets when their
// number has doubled, and keeps the others.
func TestMemoryStore_ForgetsUnusedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryStore()
		take := func(key string, l Limit) bool {
			d, err := s.Take(context.Background(), store.Request{Key: key, Limit: l, Min: 1, Max: 1})
			if err != nil {
				t.Fatal(err)
			}
			return d.Allowed
		}
		slow, fixed := Every(time.Hour), Limit{Capacity: 1, Refill: 1, Period: time.Hour, Algorithm: Fixed}
		take("slow", slow)
		take("fixed", fixed)
		const seconds, each, most = 15, 1000, memoryShards * minSweep
		for second := range seconds {
			for i := range each {
				take(fmt.Sprint(second, "/", i), Every(time.Second))
			}
			time.Sleep(time.Second)
		}
		got := 0
		for i := range s.shards {
			got += s.shards[i].size
		}
		if got > most+2*each {
			t.Errorf("after %d keys: got %d buckets in memory want at most %d", seconds*each, got, most+2*each)
		}
		if take("slow", slow) || take("fixed", fixed) {
			t.Error("a bucket that was not full was forgotten")
		}
	})
}
