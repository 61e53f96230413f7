package backoff_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
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

// saved is how many calls the simulated service saves up while it is not called.
const saved = 20

// service serves a rate of calls and throttles the others. Each call takes a while.
type service struct {
	latency    time.Duration
	retryAfter time.Duration // of throttled calls

	mu     sync.Mutex
	rate   float64
	tokens float64
	at     time.Time
	origin time.Time

	served    []int // in each second
	throttled []int
	events    uint64    // of overload
	event     time.Time // when the last one was first seen
}

func newService(sc scenario) *service {
	now, seconds := time.Now(), len(sc.rates)*int(sc.each/time.Second)
	return &service{
		latency: sc.latency, retryAfter: sc.retryAfter, tokens: saved, at: now, origin: now, event: now,
		served: make([]int, seconds), throttled: make([]int, seconds),
	}
}

func (s *service) refill(now time.Time) {
	s.tokens = min(saved, s.tokens+now.Sub(s.at).Seconds()*s.rate)
	s.at = now
}

func (s *service) set(rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill(time.Now())
	s.rate = rate
}

// call is one call. The service decides when the call arrives, and answers after the latency.
func (s *service) call() backoff.Outcome {
	begun := time.Now()
	s.mu.Lock()
	s.refill(begun)
	ok := s.tokens >= 1
	if ok {
		s.tokens--
	}
	s.mu.Unlock()
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.throttled
	if ok {
		counts = s.served
	}
	if second := int(begun.Sub(s.origin) / time.Second); second < len(counts) {
		counts[second]++
	}
	if ok {
		return backoff.Success
	}
	if !begun.Before(s.event) { // calls that overlap the first answer of an event belong to that event
		s.events++
		s.event = time.Now()
	}
	return backoff.ThrottledFor(s.retryAfter)
}

// scenario is a service with workers that call it, and its rates one after another.
type scenario struct {
	workers    int
	latency    time.Duration
	retryAfter time.Duration
	rates      []float64
	each       time.Duration // how long each rate stays
	start      time.Duration // of each rate, which the shares leave out
}

// bounds are what a phase of a simulation must keep. A zero bound holds always.
type bounds struct {
	goodput   float64 // least share of the rate, after the start
	whole     float64 // least share of the rate, with the start
	throttled float64 // highest share of the calls, after the start
	recovered int     // most seconds until five seconds in a row had 90 % of the rate
	burst     bool    // calls that are throttled in the start are bounded too
}

type phase struct {
	goodput, whole, throttled float64
	recovered                 int // -1 for never
	burst                     int // calls throttled in the start
	delay                     time.Duration
}

// judge sums up what was counted in each second of a phase.
func judge(served, throttled []int, rate float64, start int) phase {
	const window, enough = 5, 0.9
	p := phase{recovered: -1}
	p.whole = float64(sum(served)) / (rate * float64(len(served)))
	p.goodput = float64(sum(served[start:])) / (rate * float64(len(served)-start))
	p.burst = sum(throttled[:start])
	p.throttled = float64(sum(throttled[start:])) / float64(max(1, sum(served[start:])+sum(throttled[start:])))
	for i := window; i <= len(served) && p.recovered < 0; i++ {
		if float64(sum(served[i-window:i])) >= enough*rate*window {
			p.recovered = i
		}
	}
	return p
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// broken names the bounds that a phase breaks. All workers begin at once, without a delay: each of
// them may be throttled 16 times in the start, and 64 more are allowed.
func (b *bounds) broken(p phase, workers int) string {
	var all []string
	complain := func(broken bool, format string, args ...any) {
		if broken {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	complain(p.goodput < b.goodput, "goodput %.3f want at least %v", p.goodput, b.goodput)
	complain(p.whole < b.whole, "goodput with the start %.3f want at least %v", p.whole, b.whole)
	complain(b.throttled > 0 && p.throttled > b.throttled, "throttled %.3f want at most %v", p.throttled, b.throttled)
	complain(b.recovered > 0 && (p.recovered < 0 || p.recovered > b.recovered), "recovered after %d s want at most %d", p.recovered, b.recovered)
	complain(b.burst && p.burst > 64+16*workers, "%d throttled in the start want at most %d", p.burst, 64+16*workers)
	return strings.Join(all, ", ")
}

// simulate plays a scenario in a bubble, with a Responsive that all workers share.
// It returns the phases, the Responsive's statistics and how many events of overload there were.
func simulate(t *testing.T, sc scenario) (phases []phase, stats backoff.Stats, events uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, r := newService(sc), backoff.Must(backoff.New(backoff.Config{Name: "x"}))
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range sc.workers {
			all.Go(func() {
				for ctx.Err() == nil {
					if p, err := r.Wait(ctx); err == nil {
						p.Finish(s.call())
					}
				}
			})
		}
		each, start := int(sc.each/time.Second), int(sc.start/time.Second)
		delays := make([]time.Duration, len(sc.rates))
		for i, rate := range sc.rates {
			s.set(rate)
			delays[i] = watch(each, r)
		}
		stop()
		all.Wait()
		for i, rate := range sc.rates {
			p := judge(s.served[i*each:(i+1)*each], s.throttled[i*each:(i+1)*each], rate, start)
			p.delay = delays[i]
			phases = append(phases, p)
		}
		stats, events = r.Stats(), s.events
	})
	return phases, stats, events
}

// watch lets some seconds pass, and returns the mean delay of their second half.
func watch(seconds int, r *backoff.Responsive) (mean time.Duration) {
	for i := range seconds {
		time.Sleep(time.Second)
		if i >= seconds/2 {
			mean += r.Delay()
		}
	}
	return mean / time.Duration(seconds-seconds/2)
}
