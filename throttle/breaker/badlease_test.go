package breaker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// lessor is a store whose leases are not what was asked for.
type lessor struct {
	*meddler
	lease     func(*breaker.Lease)
	campaigns atomic.Int64
}

func (l *lessor) Campaign(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
	l.campaigns.Add(1)
	lease, err := l.meddler.Campaign(ctx, c)
	l.lease(&lease)
	return lease, err
}

// TestALeaseThatIsOverIsNotAskedForAtOnce grants leases with nothing left, or next to nothing, as a store with a clock that is off does,
// to the agent or to somebody else.
func TestALeaseThatIsOverIsNotAskedForAtOnce(t *testing.T) {
	for _, owner := range []string{"", "somebody else"} {
		for _, left := range []time.Duration{-time.Hour, 0, time.Millisecond, 3 * time.Millisecond} {
			t.Run(owner+" "+left.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &lessor{meddler: newMeddler(breaker.NewMemoryStore()), lease: func(l *breaker.Lease) {
						l.Remaining = left
						if owner != "" {
							l.Owner = owner
						}
					}}
					m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
					stop := running(t, m)
					time.Sleep(10 * time.Second)
					stop()
					if n := store.campaigns.Load(); n < 4 || n > 2*32 {
						t.Errorf("got the lease asked for %d times in two sample rates, want 4 to 64", n)
					}
					if lost := m.Stats().Failures[breaker.LeaseLost]; (lost > 0) != (owner == "") {
						t.Errorf("got %d lost leases told of, want some only of its own", lost)
					}
				})
			})
		}
	}
}

// TestALeaseThatEndsAtOnceIsNotLed grants leases with nothing left: nobody is told of a leader.
func TestALeaseThatEndsAtOnceIsNotLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lessor{meddler: newMeddler(breaker.NewMemoryStore()), lease: func(l *breaker.Lease) { l.Remaining = 0 }}
		led := 0
		hooks := breaker.Hooks{Led: func(breaker.LeadEvent) { led++ }}
		stop := running(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Hooks: hooks}))
		time.Sleep(10 * time.Second)
		stop()
		if led != 0 {
			t.Errorf("got Led told %d times of leases that were over, want 0", led)
		}
	})
}

// TestAnEndlessLeaseEnds grants a lease for a year to a leader that cannot reach the store afterwards: it asked for less.
func TestAnEndlessLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault failure
		store := &lessor{meddler: newMeddler(breaker.NewMemoryStore()), lease: func(l *breaker.Lease) { l.Remaining = 365 * 24 * time.Hour }}
		store.before = fault.meddle
		m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		running(t, m)
		time.Sleep(time.Second)
		fault.set(errNetwork)
		time.Sleep(10 * time.Second)
		if s := m.Stats(); s.Leads || s.Failures[breaker.LeaseLost] != 1 {
			t.Errorf("got leads %v and %d lost leases two sample rates after the store went away, want false and 1", s.Leads, s.Failures[breaker.LeaseLost])
		}
	})
}
