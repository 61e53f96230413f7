package backoff_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

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
