package backoff_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// saved is how many calls the service of the simulations saves up while it is not asked.
const saved = 20

// answer is what the service says: whether it has served the call, and if not, perhaps when to come again.
type answer struct {
	served bool
	after  time.Duration
}

// service bears so many calls per second, of which it saves up a few, and takes a while for each.
type service struct {
	latency    time.Duration
	retryAfter time.Duration

	mu     sync.Mutex
	rate   float64
	tokens float64
	at     time.Time
	origin time.Time

	served    []int // in each second
	throttled []int
	events    uint64    // of overload
	event     time.Time // when the last was first seen
}

func newService(rate float64, latency time.Duration, seconds int) *service {
	now := time.Now()
	return &service{
		latency: latency, rate: rate, tokens: saved, at: now, origin: now, event: now,
		served: make([]int, seconds), throttled: make([]int, seconds),
	}
}

// set changes the rate.
func (s *service) set(rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill(time.Now())
	s.rate = rate
}

// refill brings the bucket up to now.
func (s *service) refill(now time.Time) {
	s.tokens = min(saved, s.tokens+now.Sub(s.at).Seconds()*s.rate)
	s.at = now
}

// call is one call. What it says is decided when it comes, as a service with a bucket of capacity units does.
func (s *service) call() answer {
	begun := time.Now()
	s.mu.Lock()
	s.refill(begun)
	ok := s.tokens >= 1
	if ok {
		s.tokens--
	}
	second := int(begun.Sub(s.origin) / time.Second)
	s.mu.Unlock()
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.note(s.served, second)
		return answer{served: true}
	}
	s.note(s.throttled, second)
	s.overloaded(begun)
	return answer{after: s.retryAfter}
}

// note counts a call of a second of the simulation.
func (s *service) note(counts []int, second int) {
	if second < len(counts) {
		counts[second]++
	}
}

// overloaded counts events of overload: calls that are throttled are of one event if they were under way when its first answer came. So many is
// the most that can be told apart by anybody, for only who has called after an answer can have heeded it.
func (s *service) overloaded(begun time.Time) {
	if !begun.Before(s.event) {
		s.events++
		s.event = time.Now()
	}
}

// sum adds up some seconds.
func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// way is how a worker makes one call.
type way func(ctx context.Context, call func() answer)

// subject is something that finds a rate.
type subject struct {
	name string
	make func(workers int) (of func(worker int) way, delay func() time.Duration)
}

// scenario is what happens to a service and to those who call it.
type scenario struct {
	workers    int
	latency    time.Duration
	retryAfter time.Duration
	rates      []float64
	each       time.Duration // how long each rate stays
	start      time.Duration // of each, which is left out of the settled goodput
}

// phase is what came of a time at one rate. All are shares of 1.
type phase struct {
	goodput   float64 // of the rate, after the start
	whole     float64 // of the rate, with the start
	throttled float64 // of the calls, after the start
	burst     int     // throttled calls in the start
	recovered int     // the first second in which the 5 seconds before held 90 % of the rate; -1 for never
	delay     time.Duration
}

// outcome is what came of a simulation.
type outcome struct {
	phases []phase
	events uint64
}

// simulate plays a scenario, in a bubble of its own.
func simulate(t *testing.T, sc scenario, sub subject) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		each := int(sc.each / time.Second)
		s := newService(sc.rates[0], sc.latency, each*len(sc.rates))
		s.retryAfter = sc.retryAfter
		of, delay := sub.make(sc.workers)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for w := range sc.workers {
			call := of(w)
			all.Go(func() {
				for ctx.Err() == nil {
					call(ctx, s.call)
				}
			})
		}
		delays := make([]time.Duration, len(sc.rates))
		for i, rate := range sc.rates {
			s.set(rate)
			delays[i] = watch(each, delay)
		}
		stop()
		all.Wait()
		for i, rate := range sc.rates {
			p := judge(s.served[i*each:(i+1)*each], s.throttled[i*each:(i+1)*each], rate, int(sc.start/time.Second))
			p.delay = delays[i]
			o.phases = append(o.phases, p)
		}
		o.events = s.events
	})
	return o
}

// watch lets some seconds pass, and returns the mean delay of their second half.
func watch(seconds int, delay func() time.Duration) (mean time.Duration) {
	for i := range seconds {
		time.Sleep(time.Second)
		if i >= seconds/2 {
			mean += delay()
		}
	}
	return mean / time.Duration(seconds-seconds/2)
}

// judge makes a phase of what was counted in each of its seconds.
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

// ours is a Responsive that all workers share, or a fleet of several processes that have one each. Telemetry of the last is written to keep.
func ours(name string, processes int, c backoff.Config, keep *[]*backoff.Responsive) subject {
	return subject{name: name, make: func(int) (func(int) way, func() time.Duration) {
		c.Name = name
		fleet := make([]*backoff.Responsive, processes)
		for i := range fleet {
			fleet[i] = backoff.Must(backoff.New(c))
		}
		if keep != nil {
			*keep = fleet
		}
		return func(worker int) way { return calling(fleet[worker%processes]) }, fleet[0].Delay
	}}
}

// calling makes calls through a Responsive.
func calling(r *backoff.Responsive) way {
	return func(ctx context.Context, call func() answer) {
		p, err := r.Wait(ctx)
		if err != nil {
			return
		}
		switch a := call(); {
		case a.served:
			p.Done(backoff.Success)
		case a.after > 0:
			p.Done(backoff.ThrottledFor(a.after))
		default:
			p.Done(backoff.Throttled)
		}
	}
}
