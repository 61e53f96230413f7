package overload

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// newRetrier returns the retrier of a rule, with delays of half the longest.
func newRetrier(t *testing.T, name string) retrier {
	t.Helper()
	rule := throttle.Must(ruleOf(name))
	return rule.new(Env{Now: func() time.Time { return time.Unix(0, 0) }, Rand: func() float64 { return 0.5 }})
}

// granted makes calls that fail until one is not retried, and returns how many were.
func granted(r retrier, most int) int {
	for n := range most {
		if _, ok := r(&offer{}, errRejected); !ok {
			return n
		}
	}
	return most
}

func TestRetryRules(t *testing.T) {
	const many = 1000
	for _, tt := range []struct {
		rule   string
		delays [2]time.Duration
		shed   bool // is retried
		first  int  // retries of a new client in an outage
		later  int  // after a hundred calls that are served
	}{
		{"naive", [2]time.Duration{100 * ms, 100 * ms}, true, many, many},
		{"a6", [2]time.Duration{25 * ms, 50 * ms}, false, 4, 4},
		{"aws", [2]time.Duration{25 * ms, 50 * ms}, false, 35, 7},
		{"budget", [2]time.Duration{25 * ms, 50 * ms}, false, 3, 10},
	} {
		r, o := newRetrier(t, tt.rule), offer{}
		for n, want := range tt.delays {
			if delay, ok := r(&o, errRejected); !ok || delay != want {
				t.Errorf("%s: retry %d after %v, %v want %v", tt.rule, n+1, delay, ok, want)
			}
			o.attempt++
		}
		if _, ok := r(&o, errRejected); ok {
			t.Errorf("%s: a fourth attempt", tt.rule)
		}
		if _, ok := newRetrier(t, tt.rule)(&offer{}, throttle.ErrShed); ok != tt.shed {
			t.Errorf("%s: shed calls are retried: %v", tt.rule, ok)
		}
		r = newRetrier(t, tt.rule)
		first := granted(r, many)
		for range 100 {
			if _, ok := r(&offer{}, nil); ok {
				t.Fatalf("%s: a call that was served is retried", tt.rule)
			}
		}
		if later := granted(r, many); first != tt.first || later != tt.later {
			t.Errorf("%s: %d retries, then %d, want %d, %d", tt.rule, first, later, tt.first, tt.later)
		}
	}
}

func TestBudgetRetriesOnePriorityLower(t *testing.T) {
	for first, want := range map[throttle.Priority]throttle.Priority{throttle.High: throttle.Important, throttle.Low: throttle.Low} {
		w := &watcher{}
		s := steady(4*time.Second, Tiers{})
		s.Cases[0].Phases[0].Load[first], s.Cases[0].Phases[0].Capacity, s.Capacity, s.Clients = 1, 0, 1, 1
		p := w.policy()
		p.Retry = "budget"
		f := play(t, s, p, 1, Options{}).Figures
		if got := w.priorities; len(got) < 3 || got[0] != first || got[1] != want || got[2] != want {
			t.Errorf("%v: got %v", first, got)
		}
		if f.Succeeded != 0 || f.Attempts <= 1 {
			t.Errorf("%v: got %v attempts, %v succeeded", first, f.Attempts, f.Succeeded)
		}
	}
}

// TestARuleOfThePolicyReplacesThatOfTheScenario, and the same calls are made.
func TestARuleOfThePolicyReplacesThatOfTheScenario(t *testing.T) {
	with, without := shortened(scenario(t, "over2-retries"), 30), shortened(scenario(t, "over2-retries"), 30)
	without.Retry = ""
	p := policy(t, "sre")
	p.Retry = "none"
	one, two := play(t, with, p, 1, fewer()), play(t, without, policy(t, "sre"), 1, fewer())
	if bits(one) != bits(two) {
		t.Errorf("got %+v want %+v", one.Figures, two.Figures)
	}
	p.Retry = "naive"
	if naive, own := play(t, without, p, 1, fewer()), play(t, with, policy(t, "sre"), 1, fewer()); bits(naive) != bits(own) || bits(naive) == bits(one) {
		t.Errorf("got %+v want %+v", naive.Figures, own.Figures)
	}
}
