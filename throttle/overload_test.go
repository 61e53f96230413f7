package throttle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// fleet is many clients, each with a throttle of its own, before one backend that does not know priorities. It serves
// a thousand calls a second; beyond that it rejects, and a rejection costs it a tenth of a served call.
type fleet struct {
	now     time.Time
	dice    *rand.Rand
	clients []*Throttle
	budget  float64 // of work, in served calls
	filled  time.Time
	down    bool
	served  int
	tiers   [StandardPriorities]struct{ offered, served int }
}

const (
	backendRate   = 1000
	backendBurst  = 100
	rejectionCost = 0.1
)

func newFleet(t *testing.T, seed uint64, clients int, c Config) *fleet {
	t.Helper()
	f := &fleet{now: time.Unix(0, 0), filled: time.Unix(0, 0), dice: rand.New(rand.NewPCG(seed, 0))}
	c.Name, c.Now, c.Rand = "fleet", func() time.Time { return f.now }, f.dice.Float64
	for range clients {
		th, err := newThrottle(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.clients = append(f.clients, th)
	}
	return f
}

// backend serves a call or rejects it.
func (f *fleet) backend(context.Context) error {
	f.budget = min(f.budget+backendRate*f.now.Sub(f.filled).Seconds(), backendBurst)
	f.filled = f.now
	if f.down || f.budget < 1 {
		f.budget -= rejectionCost
		return context.DeadlineExceeded
	}
	f.budget--
	f.served++
	return nil
}

// run offers load times what the backend can serve, of which 10 % are High, 20 % Important, 40 % Medium and 30 % Low.
func (f *fleet) run(load float64, length time.Duration) {
	f.served = 0
	clear(f.tiers[:])
	for end := f.now.Add(length); f.now.Before(end); {
		f.now = f.now.Add(time.Duration(f.dice.ExpFloat64() / (load * backendRate) * float64(time.Second)))
		p := Low
		switch mix := f.dice.Float64(); {
		case mix < 0.1:
			p = High
		case mix < 0.3:
			p = Important
		case mix < 0.7:
			p = Medium
		}
		tier := &f.tiers[p]
		tier.offered++
		if f.clients[f.dice.IntN(len(f.clients))].Do(context.Background(), p, f.backend) == nil {
			tier.served++
		}
	}
}

// TestPoliciesKeepGoodputUnderOverload holds SRE to what the best formula-based peer reaches with this backend, and Tiered to what it is there for.
func TestPoliciesKeepGoodputUnderOverload(t *testing.T) {
	cases := []struct {
		policy              Policy
		load, goodput, high float64
	}{
		{SRE, 2, 0.90, 0.64},
		{SRE, 5, 0.88, 0.54},
		{SRE, 10, 0.85, 0.36},
		{Tiered, 2, 0.98, 0.86},
		{Tiered, 5, 0.98, 0.85},
		{Tiered, 10, 0.97, 0.80},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v at %vx", c.policy, c.load), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1, 100, Config{Policy: c.policy})
			f.run(0.8, time.Minute)
			f.run(c.load, time.Minute)
			goodput := float64(f.served) / (120 * backendRate)
			f.run(c.load, time.Minute)
			goodput += float64(f.served) / (120 * backendRate)
			high := float64(f.tiers[High].served) / float64(f.tiers[High].offered)
			t.Logf("goodput %.1f %%, High %.1f %%", 100*goodput, 100*high)
			if goodput < c.goodput {
				t.Errorf("goodput is %.1f %%, want %.0f at least", 100*goodput, 100*c.goodput)
			}
			if high < c.high {
				t.Errorf("High succeeds at %.1f %%, want %.0f at least", 100*high, 100*c.high)
			}
		})
	}
}

// TestTieredRecovers wants five good seconds to begin ten seconds after the trouble at the latest.
func TestTieredRecovers(t *testing.T) {
	for name, load := range map[string]float64{"five-fold overload": 5, "ten-fold overload": 10, "outage": 0.8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1, 100, Config{Policy: Tiered})
			f.run(0.8, time.Minute)
			f.down = load < 1
			f.run(load, time.Minute)
			f.down = false
			f.run(0.8, 10*time.Second)
			f.run(0.8, 5*time.Second)
			offered, served := 0, 0
			for _, tier := range f.tiers {
				offered, served = offered+tier.offered, served+tier.served
			}
			if got := float64(served) / float64(offered); got < 0.99 {
				t.Errorf("%.1f %% succeed ten seconds after it, want 99 at least", 100*got)
			}
		})
	}
}
