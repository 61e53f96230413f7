package bucket_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestWait_LargeBesideAnotherProcess checks that a caller that waits for ten tokens gets its part beside
// another process whose callers take each single token, and that a caller who is alone makes few calls.
func TestWait_LargeBesideAnotherProcess(t *testing.T) {
	for name, c := range map[string]struct {
		others        int
		least, most   int64 // tokens of the large caller in 20 s
		callsForToken float64
	}{"beside": {8, 100, 700, 4}, "alone": {0, 830, 840, 0.21}} {
		bubble(t, name, func(t *testing.T) {
			limit, shared := bucket.PerSecond(40), bucket.NewMemoryStore()
			large, small := &remote{Store: shared}, &remote{Store: shared}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var all sync.WaitGroup
			wait := func(s *remote, n int64, got *atomic.Int64, callers int) {
				l := limiter(t, bucket.Config{Store: s, Limit: limit})
				for range callers {
					all.Go(func() {
						for l.Wait(ctx, "key", n) == nil {
							got.Add(n)
						}
					})
				}
			}
			var tens, ones atomic.Int64
			wait(large, 10, &tens, 1)
			wait(small, 1, &ones, c.others)
			all.Wait()
			if n := tens.Load(); n < c.least || n > c.most {
				t.Errorf("the large caller got %d tokens, want %d to %d", n, c.least, c.most)
			}
			if n := tens.Load() + ones.Load(); n > 840 {
				t.Errorf("%d tokens in all, want at most 840", n)
			}
			if calls := float64(large.calls.Load()) / float64(tens.Load()); calls > c.callsForToken {
				t.Errorf("%.2f store calls for each token, want at most %.2f", calls, c.callsForToken)
			}
		})
	}
}
