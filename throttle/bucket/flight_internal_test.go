package bucket

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// elsewhere is a store in memory that a limiter takes for one that is not.
type elsewhere struct{ *MemoryStore }

func (elsewhere) Prompt() bool { return true }

// TestKeysThatAreAskedForOnceAreForgotten by all that knows of keys, but for the store: with a lease as soon as it ends.
func TestKeysThatAreAskedForOnceAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lease := range []int64{0, 10} {
			l := Must(New(Config{Name: "x", Store: elsewhere{NewMemoryStore()}, Limit: PerSecond(1000), Lease: lease}))
			late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			for i := range 500 {
				key := strconv.Itoa(i)
				_, _ = l.Allow(t.Context(), key)
				_ = l.Wait(t.Context(), key, 900)
				_ = l.Wait(late, key, 900)
				go func() { _, _ = l.Allow(t.Context(), key) }()
				go func() { _, _ = l.Allow(t.Context(), key) }()
			}
			synctest.Wait()
			time.Sleep(longestLease)
			synctest.Wait()
			if routes, lines := len(l.flights.routes), len(l.lines.line); routes != 0 || lines != 0 {
				t.Errorf("lease %d: got %d routes and %d lines want none", lease, routes, lines)
			}
			_ = l.Close()
		}
	})
}

// TestFullBucketsAreForgotten once they are twice as many as were there before; those that are not full stay.
func TestFullBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryStore()
		take := func(key string, l Limit) bool {
			d, err := s.Take(t.Context(), Request{Key: key, Limit: l, Min: 1, Max: 1})
			return err == nil && d.Allowed
		}
		count := func() (n int) {
			for i := range s.parts {
				n += len(s.parts[i].levels)
			}
			return n
		}
		take("slow", Every(time.Hour))
		fixed := Limit{Capacity: 1, Refill: 1, Period: time.Hour, Algorithm: Fixed}
		take("fixed", fixed)
		for i := range 60_000 {
			take(strconv.Itoa(i), PerSecond(1000))
			if i%20 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if n := count(); n > 2*memoryParts*fewBuckets {
			t.Errorf("got %d buckets of 60,000 that are full again want at most %d", n, 2*memoryParts*fewBuckets)
		}
		if take("slow", Every(time.Hour)) || take("fixed", fixed) {
			t.Error("a bucket that was not full was forgotten")
		}
	})
}
