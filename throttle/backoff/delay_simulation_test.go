package backoff_test

import (
	"slices"
	"testing"
	"time"
)

type simulation struct {
	name  string
	short time.Duration // of each phase with -short; 0 leaves the simulation out
	scenario
	bounds

	last  bool // only the last phase is judged
	alike bool // the delays of all such simulations are alike, whatever the number of workers
}

func simulations() []simulation {
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	const none = 1e-9
	steps := []float64{200, 100, 200, 400}
	found := bounds{goodput: 0.97, throttled: 0.05, recovered: 60, burst: true}
	// A step is seen a second later in the next two.
	later, crowd := found, found
	later.goodput = 0.93
	crowd.goodput, crowd.throttled = 0.93, 0.15
	back := bounds{throttled: 0.05, recovered: 60}
	return []simulation{
		{name: "1 worker", scenario: scenario{1, 10 * ms, 0, []float64{60, 30, 60, 30}, 5 * m, 10 * s}, bounds: found},
		{name: "8 workers", short: 90 * s, scenario: scenario{8, 10 * ms, 0, steps, 5 * m, 10 * s}, bounds: found, alike: true},
		{name: "64 workers", short: 90 * s, scenario: scenario{64, 10 * ms, 0, steps, 5 * m, 10 * s}, bounds: found, alike: true},
		{name: "512 workers", scenario: scenario{512, 10 * ms, 0, steps, 5 * m, 10 * s}, bounds: found, alike: true},
		{name: "near", short: 60 * s, scenario: scenario{64, ms, 0, steps[:2], 5 * m, 30 * s}, bounds: found},
		{name: "far", short: 5 * m, scenario: scenario{64, s, 0, []float64{40, 20, 40}, 5 * m, 30 * s}, bounds: later},
		{name: "far, a crowd", scenario: scenario{512, s, 0, steps, 5 * m, 30 * s}, bounds: crowd},
		{name: "many calls a second", short: 20 * s, scenario: scenario{64, 10 * ms, 0, []float64{1000}, 20 * s, 0}, bounds: bounds{whole: 0.9, throttled: 0.05}},
		{name: "more calls a second", scenario: scenario{64, 10 * ms, 0, []float64{3000}, 20 * s, 0}, bounds: bounds{whole: 0.9, throttled: 0.05}},
		{name: "Retry-After of a second", short: 2 * m, scenario: scenario{64, 10 * ms, s, steps, 2 * m, 10 * s}, bounds: bounds{goodput: 0.3, throttled: 0.05}},
		// From there to the right delay it takes 35 steps of 20 successes: 60 s on average.
		{name: "a low rate is doubled", short: 2 * m, scenario: scenario{64, 10 * ms, 0, []float64{8, 16}, 5 * m, 0}, bounds: bounds{recovered: 110}, last: true},
		{name: "a twentieth", short: 60 * s, scenario: scenario{64, 10 * ms, 0, []float64{200, 10}, 2 * m, 0}, bounds: bounds{throttled: 0.5}},
		{name: "few calls a second", short: 2 * m, scenario: scenario{64, 10 * ms, 0, []float64{5, 2.5}, 2 * m, 0}, bounds: bounds{throttled: 0.5}},
		{name: "after an outage", short: m, scenario: scenario{64, 10 * ms, 0, []float64{200, none, 200}, m, 0}, bounds: back, last: true},
		{name: "after a long outage", scenario: scenario{64, 10 * ms, 0, slices.Concat([]float64{200}, slices.Repeat([]float64{none}, 10), []float64{200}), m, 0}, bounds: back, last: true},
		{name: "a job that begins in an outage", short: 90 * s, scenario: scenario{64, 10 * ms, 0, []float64{none, 200, 200}, 90 * s, 0}, bounds: bounds{whole: 0.97}, last: true},
		// The workers ask for a fifth of the rate, and want a quarter of that.
		{name: "after an outage, never at the limit", short: m, scenario: scenario{8, 40 * ms, 0, []float64{1000, none, 1000}, m, 0}, bounds: bounds{whole: 0.05}, last: true},
		{name: "after a long outage, never at the limit", scenario: scenario{8, 40 * ms, 0, []float64{1000, none, 1000}, 10 * m, 0}, bounds: bounds{whole: 0.05}, last: true},
	}
}

// TestSimulation wants that the workers together find the rate of a service after each change, with
// at most one step per overload.
func TestSimulation(t *testing.T) {
	delays := map[int][]time.Duration{} // by phase
	for _, sim := range simulations() {
		if testing.Short() {
			if sim.short == 0 {
				continue
			}
			sim.each = sim.short
		}
		t.Run(sim.name, func(t *testing.T) {
			phases, stats, events := simulate(t, sim.scenario)
			for i, p := range phases {
				t.Logf("%v calls/s: %+v", sim.rates[i], p)
				if complaint := sim.broken(p, sim.workers); complaint != "" && (!sim.last || i == len(phases)-1) {
					t.Errorf("%v calls/s: got %s", sim.rates[i], complaint)
				}
				if sim.alike {
					delays[i] = append(delays[i], p.delay)
				}
			}
			if stats.Ups > events {
				t.Errorf("got %d steps up want at most %d, one for each event of overload", stats.Ups, events)
			}
		})
	}
	for i, d := range delays {
		if apart := float64(slices.Max(d)) / float64(slices.Min(d)); apart > 1.2 {
			t.Errorf("phase %d: got mean delays %v, a ratio of %.2f want at most 1.2", i, d, apart)
		}
	}
}
