package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// bits returns all numbers of an outcome exactly, without its seed.
func bits(o Outcome) string {
	text := fmt.Sprintf("%+v", o.Series)
	for _, x := range o.Figures.Values() {
		text += fmt.Sprintf(" %x", math.Float64bits(x))
	}
	return text
}

func TestPoliciesMeetTheSameCalls(t *testing.T) {
	s := shortened(scenario(t, "over5"), 30)
	s.Cases[0].Phases[1].Errors = 0.5 // whether a shed call would fail must be random too
	var offered []Tiers
	for _, p := range ours() {
		var got []Tiers
		for _, second := range play(t, s, p, 1, fewer()).Series {
			got = append(got, second.Offered)
		}
		if offered == nil {
			offered = got
		}
		if !slices.Equal(got, offered) {
			t.Errorf("%s met other calls than none", p.Name)
		}
	}
}

func TestCallsAreOfferedAsTheScenarioSays(t *testing.T) {
	s := steady(100*time.Second, Tiers{0.2, 0, 0.6, 0})
	s.Cases[0].Phases[0].Failing = Tiers{0, 0, 0.25}
	s.Cases[0].Phases[0].Errors = 0.1
	s.Cases[0].Phases[0].Disturbed = true
	o := play(t, s, policy(t, "none"), 1, Options{})
	var sum Second
	for _, second := range o.Series {
		sum.add(&second, 1)
	}
	offered := sum.Offered
	for p, want := range (Tiers{20_000, 0, 60_000, 0}) {
		if math.Abs(offered[p]-want) > 4*math.Sqrt(want) {
			t.Errorf("priority %d: %v offered, want about %v", p, offered[p], want)
		}
	}
	for p, want := range (Tiers{0.9, 0, 0.675, 0}) {
		if got := o.Figures.Success[p]; want > 0 && math.Abs(got-want) > 0.01 {
			t.Errorf("priority %d: %v succeeded, want about %v", p, got, want)
		}
	}
	if o.Figures.Goodput != 1 {
		t.Errorf("goodput: got %v, want 1: calls that fail for other reasons do not count", o.Figures.Goodput)
	}
}

func TestPlayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{}
	p, newClient := w.policy(), w.policy().New
	p.New = func(e Env) (Client, error) {
		cancel()
		return newClient(e)
	}
	out, err := Play(ctx, scenario(t, "over50"), p, 1, Options{})
	if !errors.Is(err, context.Canceled) || !reflect.DeepEqual(out, Outcome{}) || len(w.asked) > 0 {
		t.Errorf("got %v after %d calls, want the context's error at once", err, len(w.asked))
	}
}

func TestOptionsChangeTheScenario(t *testing.T) {
	s := shortened(scenario(t, "isolation-cold"), 100)
	w := &watcher{}
	o := play(t, s, w.policy(), 1, Options{Clients: 3, Capacity: 200})
	if want := 3 * len(s.Cases); w.made != want {
		t.Errorf("%d clients were made, want %d", w.made, want)
	}
	if !near(o.Series[0].Capacity, 200) {
		t.Errorf("the capacity is %v, want 200", o.Series[0].Capacity)
	}
	if s.Cases[0].Clients != 1 {
		t.Error("the scenario was changed")
	}
	w = &watcher{}
	if play(t, shortened(scenario(t, "pair"), 100), w.policy(), 1, Options{Clients: 3}); w.made != 2 {
		t.Errorf("%d clients were made of a scenario that keeps its own, want 2", w.made)
	}
}

func TestPlayRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*Scenario, *Policy, *Options){
		"Options.Clients is 100001: want 1 to 100000":       func(_ *Scenario, _ *Policy, o *Options) { o.Clients = 100_001 },
		"Options.Capacity is 0.5: want 1 to 1e6":            func(_ *Scenario, _ *Policy, o *Options) { o.Capacity = 0.5 },
		"Options.Capacity is NaN: want 1 to 1e6":            func(_ *Scenario, _ *Policy, o *Options) { o.Capacity = math.NaN() },
		"Options.RejectionCost is 1.1: want at most 1":      func(_ *Scenario, _ *Policy, o *Options) { o.RejectionCost = 1.1 },
		`New of policy "none" is nil`:                       func(_ *Scenario, p *Policy, _ *Options) { p.New = nil },
		"want one of none, naive, a6, aws, budget":          func(_ *Scenario, p *Policy, _ *Options) { p.Retry = "twice" },
		`scenario "steady": Clients is 0: want 1 to 100000`: func(s *Scenario, _ *Policy, _ *Options) { s.Clients = 0 },
		"Capacity is NaN: want 1 to 1e+06":                  func(s *Scenario, _ *Policy, _ *Options) { s.Capacity = math.NaN() },
		"Backend is 4":                                      func(s *Scenario, _ *Policy, _ *Options) { s.Backend = 4 },
		"Cases is empty":                                    func(s *Scenario, _ *Policy, _ *Options) { s.Cases = nil },
		"Cases[0].Clients is -1: want 0 to 100000":          func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Clients = -1 },
		"Cases[0].Phases is empty":                          func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases = nil },
		"Phases[0].Length is 0s: want 250ms to 24h0m0s":     func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases[0].Length = 0 },
		"Load is [0.1 0.2 -1 0.3]: want 0 to 1000 each":     func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases[0].Load[2] = -1 },
		"Failing is [0 2 0 0]: want 0 to 1 each":            func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases[0].Failing[1] = 2 },
		"Phases[0].Capacity is +Inf":                        func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases[0].Capacity = math.Inf(1) },
		"Errors is 1.5: want 0 to 1":                        func(s *Scenario, _ *Policy, _ *Options) { s.Cases[0].Phases[0].Errors = 1.5 },
	} {
		s, p, o := steady(time.Second, mix(1)), policy(t, "none"), Options{}
		spoil(&s, &p, &o)
		if _, err := Play(t.Context(), s, p, 1, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestPlayAccepts(t *testing.T) {
	play(t, steady(width, mix(0.1)), policy(t, "none"), 1, Options{Clients: 1, Capacity: 1, RejectionCost: math.Inf(-1)})
	play(t, steady(width, Tiers{}), policy(t, "none"), 1, Options{Clients: 100_000, Capacity: 1e6, RejectionCost: 1})
	for _, s := range Scenarios() {
		if err := s.validate(); err != nil {
			t.Error(err)
		}
	}
}
