package overload

import (
	"math"
	"strings"
	"testing"
	"time"
)

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
