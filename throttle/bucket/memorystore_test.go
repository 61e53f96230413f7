package bucket

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// daily is a limit whose buckets are not full again while a test runs.
func daily() Limit { return Limit{Capacity: 10, Period: 24 * time.Hour} }

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryStore_MemoryOfLongKeys uses long keys, and keys that are part of a longer string,
// which must not be kept.
func TestMemoryStore_MemoryOfLongKeys(t *testing.T) {
	const keys, length, bound = 100, 64 << 10, 2 << 20
	for name, part := range map[string]int{"long": length, "parts": 16} {
		down := &moody{MemoryStore: NewMemoryStore(), err: errors.New("down")}
		for asked, l := range map[string]*Limiter{
			"the store":  Must(New(Config{Name: "x", Limit: daily()})),
			"LocalShare": Must(New(Config{Name: "x", Store: down, OnFailure: LocalShare, OneByOne: true, Limit: daily()})),
		} {
			before := heap()
			for i := range keys {
				if d, err := l.Decide(t.Context(), strings.Repeat(fmt.Sprintf("%08d", i), length/8)[:part]); err != nil || !d.Allowed {
					t.Fatalf("%s keys, %s: got %+v, %v want a token", name, asked, d, err)
				}
			}
			if got := int64(heap()) - int64(before); got > bound {
				t.Errorf("%s keys, %s: %d buckets take %d bytes want at most %d", name, asked, keys, got, bound)
			}
			runtime.KeepAlive(l)
		}
	}
}

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
	limit := rated(daily())
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
