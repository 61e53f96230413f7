package overload

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func steady(length time.Duration, load Tiers) Scenario {
	s := row("steady", "", "1")[0]
	s.Cases[0].Phases[0].Length, s.Cases[0].Phases[0].Load = length, load
	return s
}

// shortened returns the scenario with shorter phases, but none too short to look at.
func shortened(s Scenario, by time.Duration) Scenario {
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases {
		phases := slices.Clone(s.Cases[i].Phases)
		for k := range phases {
			phases[k].Length = max(phases[k].Length/by, width).Truncate(width)
		}
		s.Cases[i].Phases = phases
	}
	return s
}

func scenario(t *testing.T, name string) Scenario {
	t.Helper()
	found, err := FindScenarios(name)
	if err != nil || len(found) != 1 {
		t.Fatalf("FindScenarios(%q) = %d scenarios, %v", name, len(found), err)
	}
	return found[0]
}

func policy(t *testing.T, name string) Policy {
	t.Helper()
	found, err := FindPolicies(name)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// play plays a scenario, in a bubble if the policy needs one.
func play(t *testing.T, s Scenario, p Policy, seed uint64, o Options) Outcome {
	t.Helper()
	o.Bubble = func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
	out, err := Play(t.Context(), s, p, seed, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fewer returns options with a fifth of the usual calls if tests are to be short, and none
// otherwise.
func fewer() Options {
	if testing.Short() {
		return Options{Capacity: usualCapacity / 5}
	}
	return Options{}
}

// near reports whether two numbers differ by a rounding error, or are both no number.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) < 1e-9 || math.IsNaN(a) && math.IsNaN(b)
}

// watcher is a policy that admits everything and records the calls.
type watcher struct {
	env        Env
	made       int // clients
	asked      []time.Time
	priorities []throttle.Priority // of the calls asked
	ended      []ending
}

// ending is how a call ended, and when.
type ending struct {
	call    int // its number
	at      time.Time
	outcome throttle.Outcome
}

// policy returns the policy of which the watcher is every client.
func (w *watcher) policy() Policy {
	return Policy{Name: "watcher", New: func(e Env) (Client, error) {
		w.env = e
		w.made++
		return w, nil
	}}
}

func (w *watcher) Admit(p throttle.Priority) (Token, bool) {
	w.asked, w.priorities = append(w.asked, w.env.Now()), append(w.priorities, p)
	return Token{Promise: len(w.asked) - 1}, true
}

func (w *watcher) End(t Token, o throttle.Outcome) {
	w.ended = append(w.ended, ending{t.Promise.(int), w.env.Now(), o})
}
