package bucket

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

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

// TestMemoryBucket_EarlierClock checks that a caller that read the clock before an earlier take
// adds no tokens.
func TestMemoryBucket_EarlierClock(t *testing.T) {
	limit := rated(daily())
	s, b := emptied(t, limit.Limit)
	before := b.full.Load()
	var d Decision
	if !b.take(&limit.rate, s.now()-int64(time.Hour), 1, 1, &d) || d.Allowed || d.RetryAfter > time.Hour+limit.Interval() {
		t.Errorf("got %+v want a denial for at most %v", d, time.Hour+limit.Interval())
	}
	if got := b.full.Load(); got != before {
		t.Errorf("got a bucket that is full %v earlier, want no change", time.Duration(before-got))
	}
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
