package processor

import (
	"testing"
	"time"
)

// seeds are not those with which the constants were chosen.
const seeds = 5

// TestController_converges holds the demand at many times the capacity. After 3 s the mean share must be
// what is too much.
func TestController_converges(t *testing.T) {
	for service, tolerance := range map[float64]float64{0.002: 0.05, 0.005: 0.05, 0.02: 0.11} { // long requests are few
		for _, times := range []float64{1.1, 1.5, 2, 3, 6, 10, 20} {
			for seed := range uint64(seeds) {
				r := newRig(seed, service, nil)
				r.rate = always(times * r.capacity())
				shares, n := 0.0, 0.0
				r.onTick = func(r *rig) {
					if r.now > 3 {
						shares, n = shares+r.controller.Share(), n+1
					}
				}
				r.run(23)
				// What is left beside the refusals.
				want := 1 - (1-refusalOfRig*times*r.capacity())/times*(service+refusalOfRig)/service
				if got := shares / n; got < want-tolerance || got > want+tolerance {
					t.Errorf("handler %v s, %v times the capacity, seed %d: got a mean share of %.3f want %.3f +- %v", service, times, seed, got, want, tolerance)
				}
			}
		}
	}
}

// A scenario is what a rig plays after some seconds, and what must come of it.
type scenario struct {
	name       string
	service    float64
	times      float64 // the demand, of the capacity
	good       float64 // at least, of the capacity
	high       float64 // at least
	shed       float64 // at most
	spinners   int
	quota      float64 // of each tenth of a second
	rare       float64 // a request in a hundred; 0 for service
	warm, last float64 // seconds
}

func TestController_overload(t *testing.T) {
	for _, s := range []scenario{
		{name: "half", service: 0.005, times: 0.5, good: 0.48, high: 1, shed: 0, last: 64},
		{name: "busy", service: 0.005, times: 0.8, good: 0.75, high: 1, shed: 0.015, last: 64},
		{name: "busy, long requests", service: 0.05, times: 0.8, good: 0.7, high: 0.98, shed: 0.03, last: 64},
		{name: "a little too much", service: 0.005, times: 1.5, good: 0.95, high: 0.99, shed: 0.4},
		{name: "3 times", service: 0.005, times: 3, good: 0.93, high: 0.99, shed: 0.72},
		{name: "10 times", service: 0.005, times: 10, good: 0.88, high: 0.85, shed: 0.93},
		{name: "short requests", service: 0.001, times: 3, good: 0.88, high: 0.97, shed: 0.75},
		{name: "long requests", service: 0.05, times: 3, good: 0.85, high: 0.93, shed: 0.75},
		{name: "long requests, 10 times", service: 0.05, times: 10, good: 0.9, high: 0.76, shed: 0.95},
		{name: "long requests, a little too much", service: 0.05, times: 1.5, good: 0.9, high: 0.95, shed: 0.4},
		// A few long requests that were admitted are no goroutines that never rest.
		{name: "one in a hundred is long, 3 times", service: 0.001, rare: 0.2, times: 3, good: 0.8, high: 0.92, shed: 0.78},
		{name: "one in a hundred is long, 10 times", service: 0.001, rare: 0.2, times: 10, good: 0.7, high: 0.6, shed: 0.95},
		// The process stands still for three quarters of the time, or for half of it.
		{name: "quota, half", service: 0.005, times: 0.5, quota: 0.025, good: 0.45, high: 1, shed: 0},
		{name: "quota, 3 times", service: 0.005, times: 3, quota: 0.025, good: 0.88, high: 0.98, shed: 0.72},
		{name: "quota, long requests", service: 0.02, times: 0.7, quota: 0.05, good: 0.6, high: 0.98, shed: 0},
		{name: "quota, long requests, a little too much", service: 0.02, times: 1.5, quota: 0.05, good: 0.9, high: 0.92, shed: 0.41},
		{name: "quota, long requests, 3 times", service: 0.02, times: 3, quota: 0.025, good: 0.88, high: 0.92, shed: 0.72},
		// Goroutines that never rest: to shed does not help against them.
		{name: "1 other", service: 0.005, times: 0.3, good: 0.27, high: 0.99, shed: 0.02, spinners: 1, warm: 5, last: 60},
		{name: "4 others", service: 0.005, times: 0.3, good: 0.27, high: 0.99, shed: 0.02, spinners: 4, warm: 5, last: 60},
		{name: "from the first second", service: 0.005, times: 3, good: 0.8, high: 0.8, shed: 0.8, warm: 0.001, last: 3},
	} {
		for seed := range uint64(seeds) {
			s.play(t, seed)
		}
	}
}

func (s *scenario) play(t *testing.T, seed uint64) {
	t.Helper()
	if s.warm == 0 {
		s.warm = 4
	}
	if s.last == 0 {
		s.last = 24
	}
	r := newRig(seed, s.service, nil)
	r.quota, r.rare = s.quota, s.rare
	r.rate, r.spinners = always(s.times*r.capacity()), s.spinners
	r.run(s.warm)
	got := r.run(s.warm + s.last)
	all := sum(got)
	good := float64(all.good) / s.last / r.capacity()
	if good < s.good || got[0].success() < s.high-0.005 || all.refused() > s.shed {
		t.Errorf("%s, seed %d: got good %.3f, High %.3f, shed %.4f, want at least %v, %v and at most %v", s.name, seed,
			good, got[0].success(), all.refused(), s.good, s.high, s.shed)
	}
}

// TestController_burst sends many requests at once, each 5 s. Most are served, and all of High.
func TestController_burst(t *testing.T) {
	for seed := range uint64(seeds) {
		r := newRig(seed, 0.005, func(now float64) float64 {
			if now-5*float64(int(now/5)) < 0.01 {
				return 20_000
			}
			return 0
		})
		got := r.run(60)
		if all := sum(got); got[0].success() < 0.97 || all.refused() > 0.25 {
			t.Errorf("seed %d: got High %.3f, shed %.3f of the bursts, want at least 0.97 and at most 0.25", seed, got[0].success(), all.refused())
		}
	}
}

// TestController_pause stops the processor for 0.3 s every 2 s, as a neighbour or a quota does.
func TestController_pause(t *testing.T) {
	for seed := range uint64(seeds) {
		r := newRig(seed, 0.005, always(120))
		stopped := 0.0
		r.onTick = func(r *rig) {
			if r.now > stopped+2 {
				stopped = r.now
				r.pass(0.3)
			}
		}
		if all := sum(r.run(60)); all.refused() > 0.1 {
			t.Errorf("seed %d: got %.3f shed, want at most 0.1", seed, all.refused())
		}
	}
}

// TestController_steps lets the demand rise and fall. It follows within a second, and sheds nothing 2 s
// after the end.
func TestController_steps(t *testing.T) {
	for seed := range uint64(seeds) {
		r := newRig(seed, 0.005, func(now float64) float64 {
			if now > 10 && now < 20 {
				return 600
			}
			return 100
		})
		r.run(11)
		if good := sum(r.run(12)).good; good < 160 {
			t.Errorf("seed %d: got %d good answers in the second after the rise, want at least 160", seed, good)
		}
		r.run(22)
		if shed := sum(r.run(30)).shed; shed > 0 {
			t.Errorf("seed %d: got %d shed from 2 s after the end on, want 0", seed, shed)
		}
	}
}

// TestController_badReadings gives readings that make no sense. The probabilities stay between 0 and 1.
func TestController_badReadings(t *testing.T) {
	var c Controller
	for i := range 10_000 {
		c.Update(&Reading{
			Elapsed: time.Duration(i%7-2) * time.Second, Runnable: i % 1000 * (i % 3), Turns: float64(i % 5 * 1000), Processors: 1 + i%64,
			Aim: time.Duration(1 + i%1000), Open: i % 2000, Demand: [MaxPriorities]uint64{uint64(i % 2), 15: uint64(i % 5 * 1e9)},
		})
		for p, drop := range c.mix.drop {
			if !(drop >= 0 && drop <= 1) {
				t.Fatalf("step %d, priority %d: got probability %v", i, p, drop)
			}
		}
	}
}
