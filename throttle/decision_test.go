package throttle

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestAnOpenGateNeverHidesAProbability(t *testing.T) {
	open := 0
	for seed := range sized(uint64(60), 8) {
		l := newLab(t, seed, Config{
			Window: time.Duration(1+seed/2) * time.Second, MinimumRate: 1, Priorities: 1 + int(seed)%5, Policy: Policy(seed % 2),
		})
		l.history(sized(3000, 1500), func() {
			_, estimates := l.snapshot()
			for p, v := range estimates {
				if l.decisions.packed[p].Load()&needsClock != 0 {
					continue
				}
				open++
				if v.probability != 0 {
					t.Fatalf("seed %d: the gate of %v is open, and its probability %v", seed, Priority(p), v.probability)
				}
			}
		})
	}
	if open == 0 {
		t.Error("no gate was ever open")
	}
}

func TestAnOpenGateStaysRightWhileTimePasses(t *testing.T) {
	for seed := range sized(uint64(20), 4) {
		l := newLab(t, seed, Config{Window: 12 * time.Second, Policy: Policy(seed % 2)})
		for range sized(30, 8) {
			l.history(100, func() {})
			present := l.now
			for range 2 * bucketsPerWindow {
				l.now = l.now.Add(l.window.Width() / 2)
				for p := range High + Priority(l.priorities) {
					if gate := l.decisions.packed[p].Load(); gate&needsClock == 0 && l.RejectionProbability(p) != 0 {
						t.Fatalf("seed %d: the gate of %v was open %v ago, and its probability is %v",
							seed, p, l.now.Sub(present), l.RejectionProbability(p))
					}
				}
			}
		}
	}
}

// TestARefusalThatTheProofHasNotSeenKeepsTheGateShut plays a rejection that is counted after the sums were taken, and watches the gate
// before it is opened.
func TestARefusalThatTheProofHasNotSeenKeepsTheGateShut(t *testing.T) {
	for _, column := range []int{turnedDown, shedOwn} {
		l := newLab(t, 1, Config{})
		l.call(Medium, nil)
		l.refresh()
		l.decisions.packed[Low].Or(needsClock)
		l.clearNeedsClock(1 << Low)
		if l.decisions.packed[Low].Load()&needsClock != 0 {
			t.Fatal("the gate is needsClock without a reason")
		}
		l.window.Row(0, int(Medium))[column].Add(1)
		l.clearNeedsClock(1 << Low)
		if l.decisions.packed[Low].Load()&needsClock == 0 {
			t.Errorf("column %d: the gate was opened over a refusal that nobody had looked at", column)
		}
	}
}

// TestDecisionsAreABucketOrSixteenEventsOldAtMost compares the gate with what was exact during the last sixteen events and since the
// open bucket began. An accept at an open gate is no event for the decisions below it, which it moves least.
func TestDecisionsAreABucketOrSixteenEventsOldAtMost(t *testing.T) {
	t.Run("sre", func(t *testing.T) { decisionsAreFresh(t, SRE) })
	t.Run("tiered", func(t *testing.T) { decisionsAreFresh(t, Tiered) })
}

func decisionsAreFresh(t *testing.T, policy Policy) {
	l := newLab(t, 3, Config{Policy: policy})
	var exact []float64
	bucket, since := int64(-1), 0
	l.history(sized(20_000, 3000), func() {
		l.rollWindow(l.elapsed())
		if open := int64(l.elapsed() / l.window.Width()); open != bucket {
			bucket, since = open, len(exact)
		}
		exact = append(exact, l.RejectionProbability(Low))
		got, best := probabilityOf(l.decisions.packed[Low].Load()), 1.0
		for _, want := range exact[max(0, min(since, len(exact)-1-eventsPerRefresh)):] {
			best = min(best, math.Abs(got-want))
		}
		if best > 1e-9 {
			t.Fatalf("the gate says %v, exact was %v", got, exact[max(0, len(exact)-1-eventsPerRefresh):])
		}
	})
}

func TestDrawsAreUniformAndDoNotFollowEachOther(t *testing.T) {
	const draws, cells = 50_000, 20
	th := Must(New(Config{Name: "draws"}))
	a := attempt{throttle: th, row: th.window.Row(0, 0)}
	var counts [cells]int
	var pairs [cells * cells]int
	seen := map[uint64]bool{}
	before := uint64(0)
	for i := range draws {
		draw := th.draw(&a)
		seen[draw] = true
		cell := draw * cells / probabilityUnits
		counts[cell]++
		pairs[before*cells+cell]++
		before = cell
		if i%3 == 0 {
			th.decisions.events.Add(1)
		} else {
			a.row[started].Add(1)
		}
	}
	if len(seen) != draws {
		t.Errorf("%d of %d draws were drawn before", draws-len(seen), draws)
	}
	if chi := chiSquared(counts[:], draws); chi > 60 { // one in half a million with 19 degrees of freedom
		t.Errorf("chi-squared is %.1f over %v", chi, counts)
	}
	if chi := chiSquared(pairs[:], draws); chi > 550 { // one in a million with 399 degrees of freedom
		t.Errorf("chi-squared of pairs is %.1f", chi)
	}
}

func chiSquared(counts []int, draws int) float64 {
	chi, want := 0.0, float64(draws)/float64(len(counts))
	for _, n := range counts {
		chi += square(float64(n)-want) / want
	}
	return chi
}

func TestDrawsFromUsersDiceStayInRange(t *testing.T) {
	for _, r := range []float64{0, 0.5, almostOne, 1, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := drawFrom(r); got >= probabilityUnits {
			t.Errorf("%v draws %d, want less than %d", r, got, uint64(probabilityUnits))
		}
	}
}

// TestForgottenAcceptsDoNotExcuseRejections has a clock that jumps back to the bucket in which a
// rejection was found to be harmless. When the accepted calls of the second visit are forgotten,
// its rejections remain, and calls must be shed.
func TestForgottenAcceptsDoNotExcuseRejections(t *testing.T) {
	l := newLab(t, 1, Config{Window: 10 * time.Second, Rand: func() float64 { return 0 }})
	calls := func(n int, at time.Time, err error) {
		l.now = at
		for range n {
			l.call(High, err)
		}
	}
	then := l.now
	calls(100, then, nil)
	calls(1, then, context.DeadlineExceeded)
	l.applyTuning()
	calls(1, then.Add(time.Minute), nil) // the window has forgotten the calls before
	calls(100, then.Add(-time.Second), nil)
	calls(60, then, context.DeadlineExceeded)
	l.applyTuning()
	if got := l.RejectionProbability(High); got != 0 {
		t.Fatalf("with a hundred accepted calls in the window the probability is %v", got)
	}
	l.now = then.Add(9500 * time.Millisecond)
	if l.RejectionProbability(High) == 0 || l.call(High, nil) {
		t.Errorf("with 60 rejections alone in the window the probability is %v, and a call was admitted", l.RejectionProbability(High))
	}
}
