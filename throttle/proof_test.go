package throttle

import (
	"context"
	"math"
	"testing"
	"time"
)

// TestTheProofIsCarriedOnFromTheLastWalk compares it with one made from scratch, at every call of random histories.
func TestTheProofIsCarriedOnFromTheLastWalk(t *testing.T) {
	for seed := range uint64(20) {
		l := newLab(t, seed, Config{ // fractions that binary numbers hold, so that nothing is rounded
			Window: time.Duration(2+seed) * time.Second, Policy: Policy(seed % 2), TargetRejection: 0.125,
		})
		settled := 0
		l.history(3000, func() {
			ratio := []float64{1.5, 2.5}[l.dice.IntN(2)] // as if it had just been tuned
			l.keepUp(l.elapsed())
			l.gates.setting.Lock()
			defer l.gates.setting.Unlock()
			l.window.Read(l.gates.reading)
			doubtful := uint32(0)
			for p, sum := range l.gates.reading.Span {
				if sum.Rejected+sum.Shed > 0 {
					doubtful |= 1 << p
				}
			}
			carried := l.settled(ratio) & doubtful
			l.gates.proof.walked = -1
			if fresh := l.settled(ratio) & doubtful; fresh != carried {
				t.Fatalf("seed %d: %b carried on, %b from scratch", seed, carried, fresh)
			}
			if carried != 0 {
				settled++
			}
		})
		if settled < 100 {
			t.Errorf("seed %d: something was settled at %d calls: too few to compare", seed, settled)
		}
	}
}

// TestAProofDoesNotReturnWithTheTime has a clock that jumps back to the very bucket in which a proof was made.
func TestAProofDoesNotReturnWithTheTime(t *testing.T) {
	l := newLab(t, 1, Config{Window: 10 * time.Second})
	for range 100 {
		l.call(High, nil)
	}
	l.call(High, context.DeadlineExceeded)
	l.retuned()
	if l.harmless(2)&1 == 0 {
		t.Fatal("one rejection in a hundred is not harmless")
	}
	then := l.now
	l.now = then.Add(time.Minute) // by now all is forgotten
	l.call(High, nil)
	l.now = then.Add(-time.Second)
	for range 100 {
		l.call(High, nil)
	}
	l.now = then
	for range 60 {
		l.call(High, context.DeadlineExceeded)
	}
	l.retuned()
	if got := l.RejectionProbability(High); got != 0 {
		t.Fatalf("with a hundred accepted calls in the window the probability is %v", got)
	}
	if l.harmless(2)&1 != 0 {
		t.Error("calls that were forgotten long ago prove harmless what will be left of the window in a few seconds")
	}
}

// TestTheProofFindsMostOfWhatIsHarmless lets time pass without calls, to see what was.
func TestTheProofFindsMostOfWhatIsHarmless(t *testing.T) {
	bothPolicies(t, func(t *testing.T, policy Policy) {
		harmless, proven := 0, 0
		for seed := range uint64(20) {
			l := newLab(t, seed, Config{Window: 12 * time.Second, Policy: policy})
			for range 30 {
				l.history(100, func() {})
				l.retuned()
				found, stay := l.harmless(2), l.staysAtZero()
				for p, sum := range l.gates.reading.Span {
					if sum.Rejected+sum.Shed == 0 || stay&(1<<p) == 0 {
						continue // nothing to prove
					}
					harmless++
					if found&(1<<p) != 0 {
						proven++
					}
				}
			}
		}
		least := map[Policy]float64{SRE: 0.8, Tiered: 0.4}[policy]
		if got := float64(proven) / float64(harmless); harmless < 50 || got < least {
			t.Errorf("%.2f of %d harmless moments were proven to be, want %v at least", got, harmless, least)
		}
	})
}

// staysAtZero returns, one bit each, the priorities whose probability is 0 and stays 0 while the window forgets what it holds.
func (l *lab) staysAtZero() uint32 {
	bits := uint32(1)<<l.priorities - 1
	for range bucketsPerWindow + 1 {
		_, verdicts := l.judge()
		for p, v := range verdicts {
			if v.probability > 0 {
				bits &^= 1 << p
			}
		}
		l.now = l.now.Add(l.window.Width())
	}
	return bits
}

// TestTheWorstOfTheSuffixes puts a debt into one suffix and looks whether it counts.
func TestTheWorstOfTheSuffixes(t *testing.T) {
	worst := func(age int, by debts) debts {
		d := debts{span: math.Inf(-1), recent: math.Inf(-1)}
		for a := range bucketsPerWindow + 1 {
			if a == age {
				d.worsen(by, a)
			} else {
				d.worsen(debts{}, a)
			}
		}
		return d
	}
	all := debts{span: 1, target: 1, recent: 1}
	for age, want := range map[int]debts{
		0:                                    {span: 1, recent: 1},
		recentBuckets:                        {span: 1, recent: 1},
		recentBuckets + 1:                    {span: 1},
		bucketsPerWindow / 2:                 {span: 1},
		bucketsPerWindow - recentBuckets - 1: {span: 1},
		bucketsPerWindow - recentBuckets:     {span: 1, target: 1}, // the newest of it is recent for the last time
		bucketsPerWindow:                     {span: 1, target: 1},
	} {
		if got := worst(age, all); got != want {
			t.Errorf("a debt of the suffix of %d buckets: got %+v, want %+v", age, got, want)
		}
	}
	young := debts{target: -1}
	young.worsen(debts{target: 3}, 0)
	young.worsen(debts{target: 2}, 1)
	if young.target != 2 {
		t.Errorf("in a window that is not full yet the whole counts: got %v, want 2", young.target)
	}
}
