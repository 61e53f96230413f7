package throttle

import (
	"fmt"
	"math"
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

func TestTheStarvationCliff(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		for _, rate := range sized([]float64{100, 200, 400}, []float64{100}) {
			for _, failing := range sized([]float64{0.3, 0.5, 0.75, 1}, []float64{0.5, 1}) {
				for _, late := range []time.Duration{0, 90 * time.Second} {
					name := fmt.Sprintf("High at %v/s failing %v, Low healthy from %v", rate, failing, late)
					t.Run(name, func(t *testing.T) {
						l := newLab(t, uint64(rate), Config{Policy: policy})
						low := &load{priority: Low, every: perSecond(100), from: late}
						l.run(150*time.Second, &load{priority: High, every: perSecond(rate), failing: failing}, low)
						if low.share() < 0.99 {
							t.Errorf("%.1f %% of Low were admitted, want 99 at least", 100*low.share())
						}
					})
				}
			}
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

// TestAHealthyTierWithoutAnswersIsTakenForATenthRejected: with less than a call in a window Tiered has nothing to snapshot it by. The less of
// the tier above fails, the more alike the two look. SRE charges no tier that was not rejected.
func TestAHealthyTierWithoutAnswersIsTakenForATenthRejected(t *testing.T) {
	for _, failing := range sized([]float64{0.6, 0.75, 1}, []float64{0.75}) {
		for policy, want := range map[Policy]float64{SRE: 0, Tiered: square(0.125 / failing)} { // 4.3, 2.8 and 1.6 %
			l := newLab(t, 1, Config{Policy: policy, Window: 10 * time.Second})
			l.run(time.Minute, &load{priority: High, every: perSecond(20), failing: failing})
			const looks = 100
			mean := 0.0
			for range looks {
				l.run(11*time.Second, &load{priority: High, every: perSecond(20), failing: failing})
				mean += l.RejectionProbability(Low) / looks
			}
			if math.Abs(mean-want) > 0.01 { // there are ten answers in a window to snapshot High by
				t.Errorf("%v, beside High failing %v: %.4f of Low are shed, want %.4f", policy, failing, mean, want)
			}
		}
	}
}

func TestNothingIsShedWhileEverythingIsAccepted(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		l := newLab(t, 1, Config{Policy: policy})
		for _, rate := range []float64{1, 1000, 3, 300} { // demand jumps
			for p := range High + StandardPriorities {
				o := &load{priority: p, every: perSecond(rate)}
				l.run(10*time.Second, o)
				if o.shed > 0 || l.RejectionProbability(p) != 0 {
					t.Fatalf("%v at %v/s: %d shed, probability %v", p, rate, o.shed, l.RejectionProbability(p))
				}
			}
		}
	})
}

func TestErrorsUnrelatedToLoadAreTolerated(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE})
	all := make([]*load, StandardPriorities)
	for p := range all {
		all[p] = &load{priority: Priority(p), every: perSecond(100), failing: 0.10}
	}
	l.run(sized(10*time.Minute, 2*time.Minute), all...)
	for _, o := range all {
		if 1-o.share() > 0.001 {
			t.Errorf("%v: %.2f %% were shed at one error in ten", o.priority, 100*(1-o.share()))
		}
	}
}

func TestHigherPrioritiesFareBetterInAnOverload(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		l := newLab(t, 1, Config{Policy: policy})
		all := make([]*load, StandardPriorities)
		for p := range all {
			all[p] = &load{priority: Priority(p), every: perSecond(100), failing: 0.7}
		}
		l.run(sized(5*time.Minute, 2*time.Minute), all...)
		for p := 1; p < len(all); p++ {
			if all[p].share() > all[p-1].share()+0.005 {
				t.Errorf("%v: %.3f admitted, %v: %.3f", Priority(p), all[p].share(), Priority(p-1), all[p-1].share())
			}
		}
		if all[Low].share() > all[High].share()/2 {
			t.Errorf("Low: %.3f admitted, High: %.3f, want Low to yield", all[Low].share(), all[High].share())
		}
	})
}

func TestTrafficThatStopsIsForgotten(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		l := newLab(t, 1, Config{Policy: policy, Window: time.Minute})
		l.run(2*time.Minute, &load{priority: High, every: perSecond(100), failing: 1})
		l.now = l.now.Add(time.Minute + l.window.Width())
		if got := l.RejectionProbability(High); got != 0 {
			t.Errorf("a window after the last call the probability is %v, want 0", got)
		}
		if !l.call(High, nil) {
			t.Error("the first call after a long silence was shed")
		}
	})
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

func TestProbesReachADeadBackend(t *testing.T) {
	rates := []struct{ rate, minimum float64 }{{10, 0.5}, {10, 1}, {50, 5}, {100, 1}, {400, 1}}
	for _, c := range rates[:sized(5, 3)] {
		for priorities, most := range map[int]float64{1: 1.6, 4: 2.2} { // of all priorities, times the minimum
			l := newLab(t, 2, Config{Policy: SRE, MinimumRate: c.minimum, Priorities: priorities})
			most *= sized(1, 1.2)
			top, total := l.probes(c.rate)
			if top < 0.5*c.minimum || top > 1.6*c.minimum || total > most*c.minimum {
				t.Errorf("%d priorities of %v calls/s, minimum rate %v: %.2f probes/s of High, %.2f in all, want 0.5 to 1.6 and at most %v times the minimum",
					priorities, c.rate, c.minimum, top, total, most)
			}
		}
	}
}

func TestTieredProbesADeadBackend(t *testing.T) {
	rates := []struct{ rate, minimum float64 }{{10, 1}, {50, 5}, {100, 1}}
	for _, c := range rates[:sized(3, 2)] {
		for _, priorities := range []int{1, 2, 4, 16} {
			most := 1.6 * c.minimum
			if priorities > 4 { // a priority needs one or two answers in ten seconds to be judged by: that adds up
				most += 0.1 * float64(priorities)
			}
			l := newLab(t, 2, Config{MinimumRate: c.minimum, Policy: Tiered, Priorities: priorities})
			if _, total := l.probes(c.rate); total < 0.5*c.minimum || total > most {
				t.Errorf("%d priorities of %v calls/s, minimum rate %v: %.2f probes/s in all, want %.2f to %.2f",
					priorities, c.rate, c.minimum, total, 0.5*c.minimum, most)
			}
		}
	}
}
