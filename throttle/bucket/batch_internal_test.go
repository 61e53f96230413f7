package bucket

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// elsewhere is a store in memory that a limiter treats as remote.
type elsewhere struct{ *MemoryStore }

func (elsewhere) Cancelable() bool { return true }

// TestBatcher_ForgetsIdleKeys uses keys once. The limiter keeps nothing about them after their
// leases end.
func TestBatcher_ForgetsIdleKeys(t *testing.T) {
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
			if keys, queues := len(l.whole.keys), len(l.queues.byKey); keys != 0 || queues != 0 {
				t.Errorf("lease %d: got %d keys and %d queues want none", lease, keys, queues)
			}
			_ = l.Close()
		}
	})
}
