package monitoring

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// closedName is a bucket that refuses what its store does not answer.
const closedName = "partner (fails closed)"

// limits are the token buckets of an instance. They have next to no tokens, so most of what is granted is granted without a store.
type limits struct {
	open, closed *bucket.Limiter
	local        *bucket.Limiter // in memory
}

func newLimits(t testing.TB, hooks bucket.Hooks) *limits {
	t.Helper()
	named := func(name string, store bucket.Store, policy bucket.FailurePolicy) *bucket.Limiter {
		l := bucket.Must(bucket.New(bucket.Config{
			Name: name, Store: store, OnFailure: policy, Hooks: hooks, StoreTimeout: time.Second,
			Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour},
		}))
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	return &limits{
		open:   named(hostileName, &flaky{Store: bucket.NewMemoryStore()}, bucket.FailOpen),
		closed: named(closedName, &flaky{Store: bucket.NewMemoryStore()}, bucket.FailClosed),
		local:  named(dottedName, nil, bucket.FailOpen),
	}
}

// doEverything asks for tokens one by one and by twos. The latter ask alone, and so know whose trace they are of.
func (s *limits) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	for _, l := range []*bucket.Limiter{s.open, s.closed, s.local} {
		for range 3 {
			_, _ = l.Allow(ctx, `a "key"`)
			_, _ = l.AllowN(ctx, `a "key"`, 2)
		}
	}
}

// flaky is a store that fails one time in three, in a different way each time.
type flaky struct {
	bucket.Store
	asked atomic.Int64
}

func (s *flaky) Take(ctx context.Context, r bucket.Request) (bucket.Decision, error) {
	ways := []error{faults.Unavailable(0), fmt.Errorf("no table: %w", errStrange), context.DeadlineExceeded, context.Canceled}
	if n := int(s.asked.Add(1)); n%3 == 0 {
		return bucket.Decision{}, ways[n/3%len(ways)]
	}
	return s.Store.Take(ctx, r)
}
