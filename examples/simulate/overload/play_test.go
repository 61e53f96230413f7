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
	made := 0
	p := policy(t, "none")
	makeClient := p.New
	p.New = func(e Env) (Client, error) {
		made++
		return makeClient(e)
	}
	o := play(t, s, p, 1, Options{Clients: 3, Capacity: 200})
	if want := 3 * len(s.Cases); made != want {
		t.Errorf("%d clients were made, want %d", made, want)
	}
	if !near(o.Series[0].Capacity, 200) {
		t.Errorf("the capacity is %v, want 200", o.Series[0].Capacity)
	}
	if s.Cases[0].Clients != 1 {
		t.Error("the scenario was changed")
	}
	made = 0
	if play(t, shortened(scenario(t, "pair"), 100), p, 1, Options{Clients: 3}); made != 2 {
		t.Errorf("%d clients were made of a scenario that keeps its own, want 2", made)
	}
}

func TestValidateOptions(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string // "" for none
	}{
		{"none", Options{}, ""},
		{"lowest", Options{Clients: 1, Capacity: 1, RejectionCost: math.Inf(-1)}, ""},
		{"highest", Options{Clients: 100_000, Capacity: 1e6, RejectionCost: 1}, ""},
		{"clients many", Options{Clients: 100_001}, "Options.Clients is 100001: want 1 to 100000"},
		{"capacity low", Options{Capacity: 0.5}, "Options.Capacity is 0.5: want 1 to 1e6"},
		{"capacity not a number", Options{Capacity: math.NaN()}, "Options.Capacity is NaN: want 1 to 1e6"},
		{"cost high", Options{RejectionCost: 1.1}, "Options.RejectionCost is 1.1: want at most 1"},
	}
	for _, tt := range tests {
		err := tt.o.Validate()
		if _, played := Play(t.Context(), steady(width, mix(0.1)), policy(t, "none"), 1, tt.o); (played == nil) != (err == nil) {
			t.Errorf("%s: Validate says %v, Play %v", tt.name, err, played)
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestPlayRefusesBadScenarios(t *testing.T) {
	tests := []struct {
		name string
		spot func(*Scenario)
		want string
	}{
		{"clients", func(s *Scenario) { s.Clients = 0 }, "Clients is 0: want 1 to 100000"},
		{"capacity", func(s *Scenario) { s.Capacity = math.NaN() }, "Capacity is NaN: want 1 to 1e+06"},
		{"backend", func(s *Scenario) { s.Backend = 4 }, "Backend is 4"},
		{"cases", func(s *Scenario) { s.Cases = nil }, "Cases is empty"},
		{"case's clients", func(s *Scenario) { s.Cases[0].Clients = -1 }, "Clients is -1: want 0 to 100000"},
		{"phases", func(s *Scenario) { s.Cases[0].Phases = nil }, "Phases is empty"},
		{"length", func(s *Scenario) { s.Cases[0].Phases[0].Length = 0 }, "Length is 0s: want 250ms to 24h0m0s"},
		{"load", func(s *Scenario) { s.Cases[0].Phases[0].Load[2] = -1 }, "Load is [0.1 0.2 -1 0.3]: want 0 to 1000 each"},
		{"failing", func(s *Scenario) { s.Cases[0].Phases[0].Failing[1] = 2 }, "Failing is [0 2 0 0]: want 0 to 1 each"},
		{"phase's capacity", func(s *Scenario) { s.Cases[0].Phases[0].Capacity = math.Inf(1) }, "Capacity is +Inf"},
		{"errors", func(s *Scenario) { s.Cases[0].Phases[0].Errors = 1.5 }, "Errors is 1.5: want 0 to 1"},
	}
	for _, tt := range tests {
		s := steady(time.Second, mix(1))
		tt.spot(&s)
		_, err := Play(t.Context(), s, policy(t, "none"), 1, Options{})
		if err == nil || !strings.Contains(err.Error(), `scenario "steady"`) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, s := range Scenarios() {
		if err := s.validate(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Play(t.Context(), steady(time.Second, mix(1)), Policy{Name: "empty"}, 1, Options{}); err == nil {
		t.Error("a policy without New was played")
	}
}
