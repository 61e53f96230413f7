package throttle

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// load is a stream of calls of one priority that fail at a rate.
type load struct {
	priority   Priority
	every      time.Duration
	failing    float64
	from, till time.Duration // of the run; till 0 is its end

	admitted, shed int
	next           time.Duration
}

func (o *load) share() float64 { return float64(o.admitted) / float64(max(1, o.admitted+o.shed)) }

// run plays loads against the lab's throttle for as long as told.
func (l *lab) run(length time.Duration, loads ...*load) {
	begin := l.now
	for _, o := range loads {
		o.next = o.from
	}
	for {
		o := loads[0]
		for _, other := range loads {
			if other.next < o.next {
				o = other
			}
		}
		if o.next >= length {
			break
		}
		l.now = begin.Add(o.next)
		if o.next += o.every; o.till > 0 && o.next >= o.till {
			o.next = length
		}
		var err error
		if l.dice.Float64() < o.failing {
			err = context.DeadlineExceeded
		}
		if l.call(o.priority, err) {
			o.admitted++
		} else {
			o.shed++
		}
	}
	l.now = begin.Add(length)
}

func perSecond(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

func TestAHundredRejectionsInAFreshWindow(t *testing.T) {
	l := newLab(t, 1, Config{Rand: func() float64 { return 0.999999 }})
	for range 100 {
		l.call(High, context.DeadlineExceeded)
	}
	if got := l.RejectionProbability(High); math.Abs(got-100./160) > 1e-12 {
		t.Errorf("got %.15f, want 100/160", got)
	}
}

func TestARejectionLeavesTheWindowInTimeHoweverRarelyAnyoneLooks(t *testing.T) {
	for _, poll := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 5900 * time.Millisecond, 9 * time.Second, 11900 * time.Millisecond, 30 * time.Second} {
		l := newLab(t, 1, Config{})
		l.now = l.now.Add(777 * time.Millisecond)
		l.call(High, context.DeadlineExceeded)
		happened := l.now
		for l.now.Sub(happened) < 2*time.Minute {
			age, gone := l.now.Sub(happened), l.RejectionProbability(High) == 0
			if age < time.Minute && gone {
				t.Fatalf("polled every %v: gone after %v", poll, age)
			}
			if age >= time.Minute+l.window.Width() && !gone {
				t.Fatalf("polled every %v: still there after %v", poll, age)
			}
			l.now = l.now.Add(poll)
		}
	}
}

func TestCallsThatHangAreInTheWindowWhenTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := Must(New(Config{Name: "hanging"}))
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_ = th.Do(t.Context(), High, func(context.Context) error {
					time.Sleep(40 * time.Second)
					return context.DeadlineExceeded
				})
			})
		}
		all.Wait()
		time.Sleep(25 * time.Second)
		if got := th.Stats().Priorities[High].Window.Rejected; got != 100 {
			t.Errorf("25 s after 100 calls timed out, the window holds %d of them", got)
		}
	})
}

// bothPolicies runs a test for each.
func bothPolicies(t *testing.T, test func(t *testing.T, policy Policy)) {
	for _, policy := range []Policy{SRE, Tiered} {
		t.Run(policy.String(), func(t *testing.T) { test(t, policy) })
	}
}

func TestNoLockOut(t *testing.T) { bothPolicies(t, noLockOut) }

func noLockOut(t *testing.T, policy Policy) {
	l := newLab(t, 1, Config{MinimumRate: 0.02, Policy: policy})
	l.run(2*time.Minute, &load{priority: High, every: perSecond(100), failing: 1})
	l.run(time.Hour, &load{priority: High, every: perSecond(100)})
	after := &load{priority: High, every: perSecond(100)}
	l.run(time.Minute, after)
	if after.shed > 0 {
		t.Errorf("an hour after a two-minute outage %d of %d calls were shed", after.shed, after.shed+after.admitted)
	}
}

func TestTheStarvationCliff(t *testing.T) { bothPolicies(t, theStarvationCliff) }

func theStarvationCliff(t *testing.T, policy Policy) {
	for _, rate := range []float64{100, 200, 400} {
		for _, failing := range []float64{0.3, 0.5, 0.75, 1} {
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
		l.run(300*c.every, &load{priority: High, every: perSecond(20), failing: 1}, low)
		if low.share() < c.least {
			t.Errorf("%v, one call every %v beside 20 failing ones a second: %d of %d were shed",
				c.policy, c.every, low.shed, low.shed+low.admitted)
		}
	}
}

// TestAHealthyTierWithoutAnswersIsTakenForATenthRejected: with less than a call in a window Tiered has nothing to judge it by. The less of
// the tier above fails, the more alike the two look. SRE charges no tier that was not rejected.
func TestAHealthyTierWithoutAnswersIsTakenForATenthRejected(t *testing.T) {
	for _, failing := range []float64{0.6, 0.75, 1} {
		for policy, want := range map[Policy]float64{SRE: 0, Tiered: square(0.125 / failing)} { // 4.3, 2.8 and 1.6 %
			l := newLab(t, 1, Config{Policy: policy, Window: 10 * time.Second})
			l.run(time.Minute, &load{priority: High, every: perSecond(20), failing: failing})
			const looks = 100
			mean := 0.0
			for range looks {
				l.run(11*time.Second, &load{priority: High, every: perSecond(20), failing: failing})
				mean += l.RejectionProbability(Low) / looks
			}
			if math.Abs(mean-want) > 0.01 { // there are ten answers in a window to judge High by
				t.Errorf("%v, beside High failing %v: %.4f of Low are shed, want %.4f", policy, failing, mean, want)
			}
		}
	}
}

func TestNothingIsShedWhileEverythingIsAccepted(t *testing.T) {
	bothPolicies(t, nothingIsShedWhileEverythingIsAccepted)
}

func nothingIsShedWhileEverythingIsAccepted(t *testing.T, policy Policy) {
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
}

func TestFailuresOfTheTopTierAloneLeaveTheOthersOpen(t *testing.T) {
	l := newLab(t, 1, Config{})
	l.run(time.Minute, &load{priority: High, every: perSecond(100), failing: 1},
		&load{priority: Medium, every: perSecond(10)})
	if gate := l.gates.words[Medium].Load(); gate != 0 {
		t.Errorf("the gate of the healthy tier is %#x, want it open, so that its calls stay cheap", gate)
	}
}

func TestAColdStartIsNotShed(t *testing.T) {
	l := newLab(t, 1, Config{})
	for range 5 {
		l.call(High, context.DeadlineExceeded)
	}
	if got := l.RejectionProbability(High); got > 0.10 {
		t.Errorf("after five failures the probability is %v, want 0.10 at most", got)
	}
}

func TestErrorsUnrelatedToLoadAreTolerated(t *testing.T) {
	l := newLab(t, 1, Config{})
	all := make([]*load, StandardPriorities)
	for p := range all {
		all[p] = &load{priority: Priority(p), every: perSecond(100), failing: 0.10}
	}
	l.run(10*time.Minute, all...)
	for _, o := range all {
		if 1-o.share() > 0.001 {
			t.Errorf("%v: %.2f %% were shed at one error in ten", o.priority, 100*(1-o.share()))
		}
	}
}

func TestHigherPrioritiesFareBetterInAnOverload(t *testing.T) {
	bothPolicies(t, higherPrioritiesFareBetter)
}

func higherPrioritiesFareBetter(t *testing.T, policy Policy) {
	l := newLab(t, 1, Config{Policy: policy})
	all := make([]*load, StandardPriorities)
	for p := range all {
		all[p] = &load{priority: Priority(p), every: perSecond(100), failing: 0.7}
	}
	l.run(5*time.Minute, all...)
	for p := 1; p < len(all); p++ {
		if all[p].share() > all[p-1].share()+0.005 {
			t.Errorf("%v: %.3f admitted, %v: %.3f", Priority(p), all[p].share(), Priority(p-1), all[p-1].share())
		}
	}
	if all[Low].share() > all[High].share()/2 {
		t.Errorf("Low: %.3f admitted, High: %.3f, want Low to yield", all[Low].share(), all[High].share())
	}
}

func TestTrafficThatStopsIsForgotten(t *testing.T) { bothPolicies(t, trafficThatStopsIsForgotten) }

func trafficThatStopsIsForgotten(t *testing.T, policy Policy) {
	l := newLab(t, 1, Config{Policy: policy, Window: time.Minute})
	l.run(2*time.Minute, &load{priority: High, every: perSecond(100), failing: 1})
	l.now = l.now.Add(time.Minute + l.window.Width())
	if got := l.RejectionProbability(High); got != 0 {
		t.Errorf("a window after the last call the probability is %v, want 0", got)
	}
	if !l.call(High, nil) {
		t.Error("the first call after a long silence was shed")
	}
}
