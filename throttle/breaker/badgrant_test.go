package breaker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// granter is a store that grants probes that nobody asked for, or that are over already.
type granter struct {
	*meddler
	grant breaker.ProbeGrant
}

func (g *granter) Probe(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
	if _, err := g.meddler.Probe(ctx, requests); err != nil {
		return nil, err
	}
	grants := make([]breaker.ProbeGrant, len(requests))
	for i := range grants {
		grants[i] = g.grant
	}
	return grants, nil
}

// TestGrantsThatMakeNoSense calls a half-open endpoint 100 times a second for ten seconds, which are two sample rates: not more than was asked
// for is taken, and the store is not asked at each call.
func TestGrantsThatMakeNoSense(t *testing.T) {
	for name, tt := range map[string]struct {
		grant             breaker.ProbeGrant
		made, least, most int64 // calls let through, and the store asked
	}{
		"fewer than none":      {breaker.ProbeGrant{Granted: -1, Remaining: time.Second}, 0, 9, 11},
		"more than asked for":  {breaker.ProbeGrant{Granted: 1000, Remaining: time.Hour}, 600, 400, 1001},
		"over already":         {breaker.ProbeGrant{Granted: 1, Remaining: -time.Hour}, 0, 50, 65},
		"none, for no time":    {breaker.ProbeGrant{}, 0, 50, 65},
		"none, for ever after": {breaker.ProbeGrant{Remaining: 1 << 62}, 0, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, k := &granter{meddler: newMeddler(breaker.NewMemoryStore()), grant: tt.grant}, breaker.Key{ID: "a"}
				sample(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{Failures: 20})}))
				var asks atomic.Int64
				store.before = func(_ context.Context, op string) error {
					if op == "Probe" {
						asks.Add(1)
					}
					return nil
				}
				m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
				running(t, m)
				time.Sleep(31 * time.Second)
				asks.Store(0)
				made := int64(0)
				for range 1000 {
					if m.CanExecute(t.Context(), k) == nil {
						made++
					}
					time.Sleep(10 * time.Millisecond)
				}
				if n := asks.Load(); made > tt.made || n < tt.least || n > tt.most {
					t.Errorf("got %d calls let through and the store asked %d times, want at most %d, and %d to %d", made, n, tt.made, tt.least, tt.most)
				}
				if n := m.Stats().Probes; n > 2000 {
					t.Errorf("got %d probes counted, want no more than were asked for", n)
				}
			})
		})
	}
}
