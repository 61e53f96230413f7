package backoff_test

import (
	"sync"
	"time"
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
