package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestSchedule(t *testing.T) {
	phases := []phase{{length: 100 * time.Second, rate: 50}, {length: 100 * time.Second, rate: 150, burst: 20}, {length: time.Second}}
	arrivals := schedule(7, phases)
	if !slices.IsSortedFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) }) {
		t.Error("the arrivals are not in order")
	}
	var first, second, bursts int
	var mix [priorities]int
	for _, a := range arrivals {
		mix[a.priority]++
		switch {
		case a.burst && a.at != 100*time.Second:
			t.Errorf("got a burst at %v want 1m40s", a.at)
		case a.burst:
			bursts++
		case a.at < 100*time.Second:
			first++
		case a.at < 200*time.Second:
			second++
		default:
			t.Errorf("got an arrival at %v want none after 3m20s", a.at)
		}
	}
	if bursts != 20 || math.Abs(float64(first)-5000) > 300 || math.Abs(float64(second)-15000) > 500 {
		t.Errorf("got %d, %d and %d in bursts want about 5000, about 15000 and 20", first, second, bursts)
	}
	for p, want := range map[throttle.Priority]float64{throttle.High: 0.1, throttle.Important: 0.2, throttle.Medium: 0.3, throttle.Low: 0.4} {
		if got := float64(mix[p]) / float64(len(arrivals)); math.Abs(got-want) > 0.02 {
			t.Errorf("%v: got a share of %.3f want about %.1f", p, got, want)
		}
	}
}
