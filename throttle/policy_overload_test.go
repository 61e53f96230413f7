package throttle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// fleet is many clients, each with a throttle of its own, before one backend that does not know
// priorities. The backend serves ten calls a second for each client. Beyond that it rejects, and a
// rejection costs a tenth of a served call.
type fleet struct {
	now     time.Time
	dice    *rand.Rand
	clients []*Throttle
	rate    float64 // of the backend
	budget  float64 // of work, in served calls
	filled  time.Time
	down    bool
	served  int
	tiers   [StandardPriorities]fortune // in the last run
}

// fortune is how many calls of a priority were made and served.
type fortune struct{ calls, good int }

func (o fortune) share() float64 { return float64(o.good) / float64(o.calls) }

func newFleet(c Config) *fleet {
	clients := sized(100, 20)
	f := &fleet{now: time.Unix(0, 0), filled: time.Unix(0, 0), dice: rand.New(rand.NewPCG(1, 0)), rate: 10 * float64(clients)}
	c.Name, c.Now, c.Rand = "fleet", func() time.Time { return f.now }, f.dice.Float64
	for range clients {
		f.clients = append(f.clients, Must(newThrottle(c, "", 1)))
	}
	return f
}

// backend serves a call or rejects it.
func (f *fleet) backend(context.Context) error {
	f.budget = min(f.budget+f.rate*f.now.Sub(f.filled).Seconds(), f.rate/10)
	f.filled = f.now
	if f.down || f.budget < 1 {
		f.budget -= 0.1
		return context.DeadlineExceeded
	}
	f.budget--
	f.served++
	return nil
}

// run offers load times what the backend can serve, of which 10 % are High, 20 % Important, 40 % Medium and 30 % Low.
func (f *fleet) run(load float64, length time.Duration) {
	clear(f.tiers[:])
	for end := f.now.Add(length); f.now.Before(end); {
		f.now = f.now.Add(time.Duration(f.dice.ExpFloat64() / (load * f.rate) * float64(time.Second)))
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
		tier.calls++
		if f.clients[f.dice.IntN(len(f.clients))].Do(context.Background(), p, f.backend) == nil {
			tier.good++
		}
	}
}

// TestPoliciesKeepGoodputUnderOverload holds SRE to what the best formula-based peer reaches with
// this backend, and Tiered to its purpose. Higher priorities succeed more often.
func TestPoliciesKeepGoodputUnderOverload(t *testing.T) {
	cases := []struct {
		policy              Policy
		load, goodput, high float64
	}{
		{SRE, 5, 0.88, 0.54},
		{Tiered, 5, 0.98, 0.85},
		{SRE, 2, 0.90, 0.64},
		{SRE, 10, 0.85, 0.36},
		{Tiered, 2, 0.98, 0.86},
		{Tiered, 10, 0.97, 0.80},
	}
	for _, c := range cases[:sized(6, 2)] {
		t.Run(fmt.Sprintf("%v at %vx", c.policy, c.load), func(t *testing.T) {
			t.Parallel()
			f := newFleet(Config{Policy: c.policy})
			f.run(0.8, time.Minute)
			before := f.served
			f.run(c.load, time.Minute)
			f.run(c.load, time.Minute)
			goodput := float64(f.served-before) / (120 * f.rate)
			if goodput < c.goodput-sized(0, 0.02) {
				t.Errorf("goodput is %.1f %%, want %.0f at least", 100*goodput, 100*c.goodput)
			}
			if high := f.tiers[High].share(); high < c.high {
				t.Errorf("High succeeds at %.1f %%, want %.0f at least", 100*high, 100*c.high)
			}
			for p := Important; p <= Low; p++ {
				if own, above := f.tiers[p].share(), f.tiers[p-1].share(); own > above+0.01 {
					t.Errorf("%v succeeds at %.1f %%, %v at %.1f", p, 100*own, p-1, 100*above)
				}
			}
		})
	}
}

// TestTieredRecovers wants five good seconds to begin ten seconds after the trouble at the latest.
func TestTieredRecovers(t *testing.T) {
	for name, load := range map[string]float64{"five-fold overload": 5, "ten-fold overload": 10, "outage": 0.8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(Config{Policy: Tiered})
			f.run(0.8, time.Minute)
			f.down = load < 1
			f.run(load, sized(time.Minute, 20*time.Second))
			f.down = false
			f.run(0.8, 10*time.Second)
			f.run(0.8, 5*time.Second)
			var all fortune
			for _, tier := range f.tiers {
				all.calls, all.good = all.calls+tier.calls, all.good+tier.good
			}
			if got := all.share(); got < 0.99 {
				t.Errorf("%.1f %% succeed ten seconds after it, want 99 at least", 100*got)
			}
		})
	}
}
