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
			for i := range 100 {
				key := strconv.Itoa(i)
				_, _ = l.Decide(t.Context(), key)
				_ = l.Wait(t.Context(), key, 900)
				_ = l.Wait(late, key, 900)
				go func() { _, _ = l.Decide(t.Context(), key) }()
				go func() { _, _ = l.Decide(t.Context(), key) }()
			}
			synctest.Wait()
			time.Sleep(maxLeaseFor)
			synctest.Wait()
			if routes, lines := len(l.flights.routes), len(l.lines.line); routes != 0 || lines != 0 {
				t.Errorf("lease %d: got %d routes and %d lines want none", lease, routes, lines)
			}
			_ = l.Close()
		}
	})
}
