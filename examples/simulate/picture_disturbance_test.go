package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

func TestSpans(t *testing.T) {
	calm := overload.Phase{Length: time.Minute, Load: overload.Tiers{0.8}, Capacity: 1}
	disturbed := func(load, capacity float64, failing overload.Tiers) overload.Phase {
		return overload.Phase{
			Length: time.Minute, Load: overload.Tiers{load / 2, load / 2}, Capacity: capacity, Failing: failing, Disturbed: true,
		}
	}
	none := overload.Tiers{}
	over, less := disturbed(5, 1, none), disturbed(0.5, 1, none)
	tests := []struct {
		name   string
		phases []overload.Phase
		want   string
	}{
		{"calm", []overload.Phase{calm, calm}, "[]"},
		{"overload", []overload.Phase{calm, over, calm}, "[{load 5 × capacity 60 120}]"},
		{"to the end", []overload.Phase{calm, over}, "[{load 5 × capacity 60 120}]"},
		{"from the beginning", []overload.Phase{over, calm}, "[{load 5 × capacity 0 60}]"},
		{"bursts", []overload.Phase{over, less, over, less, calm}, "[{load 5 and 0.5 × capacity 0 240}]"},
		{"twice", []overload.Phase{over, calm, over}, "[{load 5 × capacity 0 60} {load 5 × capacity 120 180}]"},
		{"brownout", []overload.Phase{calm, disturbed(0.8, 0.1, none)}, "[{capacity 10 % 60 120}]"},
		{"outage", []overload.Phase{calm, disturbed(0.8, 0, none)}, "[{capacity 0 % 60 120}]"},
		{"failing", []overload.Phase{calm, disturbed(0.8, 1, overload.Tiers{0.5})}, "[{High fails for its own reason 60 120}]"},
		{"all", []overload.Phase{disturbed(2, 0.5, overload.Tiers{0, 1})}, "[{load 2 × capacity, capacity 50 %, Important fails for its own reason 0 60}]"},
		{"nothing", []overload.Phase{less}, "[{disturbance 0 60}]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(spans(tt.phases)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
