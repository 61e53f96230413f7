package throttle

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// lab is a throttle on a clock and dice of its own.
type lab struct {
	*Throttle
	now  time.Time
	dice *rand.Rand
}

func newLab(t *testing.T, seed uint64, c Config) *lab {
	t.Helper()
	l := &lab{now: time.Unix(0, 0), dice: rand.New(rand.NewPCG(seed, seed))}
	c.Name = "lab"
	c.Now = func() time.Time { return l.now }
	if c.Rand == nil {
		c.Rand = l.dice.Float64
	}
	var err error
	if l.Throttle, err = New(c); err != nil {
		t.Fatal(err)
	}
	return l
}

// call makes a call that ends as told, and reports whether it was admitted.
func (l *lab) call(p Priority, err error) bool {
	admitted := false
	_ = l.Do(context.Background(), p, func(context.Context) error {
		admitted = true
		return err
	})
	return admitted
}

// history makes random calls: calm and stormy times, pauses, some priorities worse off than others.
func (l *lab) history(steps int, each func()) {
	storm, pause := 0.0, int64(10*time.Millisecond)
	for range steps {
		if l.dice.IntN(100) == 0 {
			storm, pause = math.Pow(l.dice.Float64(), 2), int64(1)<<(10+l.dice.IntN(26))
		}
		p := Priority(l.dice.IntN(l.priorities))
		var err error
		if l.dice.Float64() < storm/float64(1+int(p)%2) {
			err = context.DeadlineExceeded
		}
		l.now = l.now.Add(time.Duration(l.dice.Int64N(2 * pause)))
		each()
		l.call(p, err)
	}
}

func TestAnOpenGateNeverHidesAProbability(t *testing.T) {
	open := 0
	for seed := range uint64(60) {
		l := newLab(t, seed, Config{
			Window: time.Duration(1+seed/2) * time.Second, MinimumRate: 1, Priorities: 1 + int(seed)%5, Policy: Policy(seed % 2),
		})
		l.history(3000, func() {
			_, verdicts := l.judge()
			for p, v := range verdicts {
				if l.gates.words[p].Load()&watched != 0 {
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
	for seed := range uint64(20) {
		l := newLab(t, seed, Config{Window: 12 * time.Second, Policy: Policy(seed % 2)})
		for range 30 {
			l.history(100, func() {})
			present := l.now
			for range 2 * bucketsPerWindow {
				l.now = l.now.Add(l.window.Width() / 2)
				for p := range High + Priority(l.priorities) {
					if gate := l.gates.words[p].Load(); gate&watched == 0 && l.RejectionProbability(p) != 0 {
						t.Fatalf("seed %d: the gate of %v was open %v ago, and its probability is %v",
							seed, p, l.now.Sub(present), l.RejectionProbability(p))
					}
				}
			}
		}
	}
}

func TestGatesOpenAgainAfterAFewFailures(t *testing.T) {
	for _, policy := range []Policy{SRE, Tiered} {
		for _, failing := range []Priority{High, Low} {
			l := newLab(t, 1, Config{Policy: policy})
			for i := range 1000 {
				l.call(Priority(i%2)*Low, nil)
			}
			l.call(failing, context.DeadlineExceeded)
			if l.gates.words[failing].Load()&watched == 0 {
				t.Fatalf("%v: the gate of %v is open right after a rejection", policy, failing)
			}
			for i := range 2 * eventsPerSetting {
				l.call(Priority(i%2)*Low, nil)
			}
			for p := range High + StandardPriorities {
				if l.gates.words[p].Load()&watched != 0 {
					t.Errorf("%v: one rejection of %v in a thousand keeps the gate of %v watched", policy, failing, p)
				}
			}
		}
	}
}

func TestRefusalsWatchTheGatesThatTheyMayMove(t *testing.T) {
	for _, refusal := range []string{"shed", "rejected"} {
		l := newLab(t, 1, Config{Rand: func() float64 { return 0 }, Policy: Tiered})
		l.call(Important, context.DeadlineExceeded)
		for p, want := range []uint64{High: 0, Important: watched, Medium: watched, Low: watched} {
			if got := l.gates.words[p].Load() & watched; got != want {
				t.Errorf("Tiered, Important was rejected: gate of %v: got watched %d, want %d", Priority(p), got, want)
			}
		}
		l = newLab(t, 1, Config{Rand: func() float64 { return 0 }})
		if refusal == "shed" {
			l.gates.words[Important].Store(1<<oddsShift | watched)
		}
		l.gates.words[Medium].Store(answering)
		l.call(Important, context.DeadlineExceeded)
		for p, want := range []uint64{High: 0, Important: watched, Medium: watched, Low: 0} {
			if got := l.gates.words[p].Load() & watched; got != want {
				t.Errorf("Important was %s: gate of %v: got watched %d, want %d", refusal, Priority(p), got, want)
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
		l.setGates()
		l.gates.words[Low].Or(watched)
		l.openGates(1 << Low)
		if l.gates.words[Low].Load()&watched != 0 {
			t.Fatal("the gate is watched without a reason")
		}
		l.window.Row(0, int(Medium))[column].Add(1)
		l.openGates(1 << Low)
		if l.gates.words[Low].Load()&watched == 0 {
			t.Errorf("column %d: the gate was opened over a refusal that nobody had looked at", column)
		}
	}
}

// TestDecisionsAreABucketOrSixteenEventsOldAtMost compares the gate with what was exact during the last sixteen events and since the
// open bucket began. An accept at an open gate is no event for the gates below it, which it moves least.
func TestDecisionsAreABucketOrSixteenEventsOldAtMost(t *testing.T) {
	t.Run("sre", func(t *testing.T) { decisionsAreFresh(t, SRE) })
	t.Run("tiered", func(t *testing.T) { decisionsAreFresh(t, Tiered) })
}

func decisionsAreFresh(t *testing.T, policy Policy) {
	l := newLab(t, 3, Config{Policy: policy})
	var exact []float64
	bucket, since := int64(-1), 0
	l.history(20_000, func() {
		l.keepUp(l.elapsed())
		if open := int64(l.elapsed() / l.window.Width()); open != bucket {
			bucket, since = open, len(exact)
		}
		exact = append(exact, l.RejectionProbability(Low))
		got, best := oddsOf(l.gates.words[Low].Load()), 1.0
		for _, want := range exact[max(0, min(since, len(exact)-1-eventsPerSetting)):] {
			best = min(best, math.Abs(got-want))
		}
		if best > 1e-9 {
			t.Fatalf("the gate says %v, exact was %v", got, exact[max(0, len(exact)-1-eventsPerSetting):])
		}
	})
}

func TestDrawsAreUniformAndDoNotFollowEachOther(t *testing.T) {
	const draws, cells = 100_000, 20
	th := Must(New(Config{Name: "draws"}))
	a := attempt{throttle: th, row: th.window.Row(0, 0)}
	var counts [cells]int
	var pairs [cells * cells]int
	seen := map[uint64]bool{}
	before := uint64(0)
	for i := range draws {
		draw := th.draw(&a)
		seen[draw] = true
		cell := draw * cells / oddsUnits
		counts[cell]++
		pairs[before*cells+cell]++
		before = cell
		if i%3 == 0 {
			th.gates.news.Add(1)
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
		if got := drawFrom(r); got >= oddsUnits {
			t.Errorf("%v draws %d, want less than %d", r, got, uint64(oddsUnits))
		}
	}
}
