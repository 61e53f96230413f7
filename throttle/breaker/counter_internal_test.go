package breaker

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheCounterIsBoundedInBytes fills a counter with the keys of strangers. As many circuits as it holds at most must not take the memory
// of a process.
func TestTheCounterIsBoundedInBytes(t *testing.T) {
	const keys, bound = 20_000, 256 << 20
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	c, before := NewCounter(time.Minute), heap()
	for i := range keys {
		c.Failure(Key{ID: strconv.Itoa(i)})
	}
	each := (heap() - before) / keys
	if got := each * maxCounted; got > bound {
		t.Errorf("%d circuits of %d bytes: got %d MB want at most %d", maxCounted, each, got>>20, bound>>20)
	}
	runtime.KeepAlive(c)
}

// TestBeyondTheBoundResultsAreDropped counts more circuits than there may be: those that came first are counted on, and the others when there is
// room again.
func TestBeyondTheBoundResultsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = maxCounted / counterShards
		c := NewCounter(time.Minute)
		keys := ofOnePart(c, most+1)
		for _, k := range keys {
			c.Failure(k)
		}
		c.Failure(keys[0])
		results, _ := c.Poll(t.Context(), PollQuery{})
		if len(results) != most || c.Dropped() != 1 || results[keys[0]].Failures != 2 {
			t.Errorf("got %d circuits, %d results dropped, %v of the first want %d, 1, 2 failures", len(results), c.Dropped(), results[keys[0]], most)
		}
		time.Sleep(3 * time.Minute)
		c.Failure(keys[most])
		if results, _ := c.Poll(t.Context(), PollQuery{MinFailures: 1}); len(results) != 1 || results[keys[most]].Failures != 1 {
			t.Errorf("after the others had no calls: got %d circuits, %v want the last alone", len(results), results[keys[most]])
		}
	})
}

// ofOnePart returns keys that one part of a counter counts.
func ofOnePart(c *Counter, n int) []Key {
	var keys []Key
	for i := 0; len(keys) < n; i++ {
		if k := (Key{ID: strconv.Itoa(i)}); c.part(k) == &c.parts[0] {
			keys = append(keys, k)
		}
	}
	return keys
}
