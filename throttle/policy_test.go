package throttle

import (
	"testing"
	"time"
)

func TestNoLockOut(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		l := newLab(t, 1, Config{MinimumRate: 0.02, Policy: policy})
		l.run(2*time.Minute, &load{priority: High, every: perSecond(100), failing: 1})
		l.run(time.Hour, &load{priority: High, every: perSecond(sized(100.0, 5))})
		after := &load{priority: High, every: perSecond(100)}
		l.run(time.Minute, after)
		if after.shed > 0 {
			t.Errorf("an hour after a two-minute outage %d of %d calls were shed", after.shed, after.shed+after.admitted)
		}
	})
}

func TestASparseHealthyTierIsAlwaysAdmitted(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		every  time.Duration
		least  float64
	}{
		{SRE, 5 * time.Second, 1},
		{SRE, 20 * time.Second, 1},
		{SRE, 61 * time.Second, 1},
		{Tiered, time.Second, 0.99},
		{Tiered, 5 * time.Second, 0.99},
		{Tiered, 11 * time.Second, 0.975}, // less than one in a window: 98 % beside one that fails altogether, but for the dice
		{Tiered, 61 * time.Second, 0.975},
	} {
		l := newLab(t, 1, Config{Policy: c.policy})
		low := &load{priority: Low, every: c.every, from: c.every / 2}
		l.run(time.Duration(sized(300, 40))*c.every, &load{priority: High, every: perSecond(sized(20.0, 10)), failing: 1}, low)
		if low.shed > 0 && low.share() < c.least-sized(0, 0.03) {
			t.Errorf("%v, one call every %v beside failing ones: %d of %d were shed", c.policy, c.every, low.shed, low.shed+low.admitted)
		}
	}
}

// probes returns how many calls per second, of the highest priority and of all, reach a backend
// that rejects everything, when the throttle has noticed.
func (l *lab) probes(rate float64) (top, total float64) {
	span := sized(5*time.Minute, time.Minute)
	all := make([]*load, l.priorities)
	for p := range all {
		all[p] = &load{priority: Priority(p), every: perSecond(rate), failing: 1, from: time.Duration(p) * time.Microsecond}
	}
	l.run(2*l.span, all...)
	for _, o := range all {
		o.admitted, o.shed = 0, 0
	}
	l.run(span, all...)
	for _, o := range all {
		total += float64(o.admitted) / span.Seconds()
	}
	return float64(all[High].admitted) / span.Seconds(), total
}

// TestProbesReachADeadBackend wants about the minimum rate of all priorities together, and with SRE of High alone.
func TestProbesReachADeadBackend(t *testing.T) {
	rates := []struct{ rate, minimum float64 }{{10, 1}, {50, 5}, {100, 1}, {10, 0.5}, {400, 1}}
	for _, c := range []struct {
		policy     Policy
		priorities int
		most       float64 // times the minimum
		each       float64 // more of each priority: Tiered needs one or two answers in ten seconds to judge it by
	}{
		{SRE, 1, 1.6, 0},
		{SRE, 4, 2.2, 0},
		{Tiered, 1, 1.6, 0},
		{Tiered, 2, 1.6, 0},
		{Tiered, 4, 1.6, 0},
		{Tiered, 16, 1.6, 0.1},
	} {
		for _, r := range rates[:sized(5, 2)] {
			l := newLab(t, 2, Config{Policy: c.policy, MinimumRate: r.minimum, Priorities: c.priorities})
			top, total := l.probes(r.rate)
			if c.policy == Tiered {
				top = total
			}
			most := sized(1, 1.2)*c.most*r.minimum + c.each*float64(c.priorities)
			if top < 0.5*r.minimum || top > 1.6*r.minimum+c.each*float64(c.priorities) || total > most {
				t.Errorf("%+v, %+v: got %.2f probes/s of High, %.2f in all, want at most %.2f", c, r, top, total, most)
			}
		}
	}
}
