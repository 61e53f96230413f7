package overload

import (
	"math"
	"strings"
	"testing"
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
