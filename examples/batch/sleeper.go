package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// What AutoSleeper does by default.
const (
	sleeperInitial   = 500 * time.Millisecond
	sleeperLongest   = 15 * time.Minute
	sleeperUp        = 1.5
	sleeperDown      = 0.9
	sleeperThreshold = 10
	sleeperNoise     = 0.3
	sleeperMostNoise = 2 * time.Minute
)

// sleeper does what AutoSleeper of github.com/sakthipriyan/go-utils does, for comparison: every failure makes the delay longer, whoever sees it.
// A lock and a context were added, or workers could not share it. [backoff.Responsive] has the same two calls, for whoever has used this.
type sleeper struct {
	mu        sync.Mutex
	interval  time.Duration
	successes int
}

// failed makes the delay longer, and sleeps.
func (s *sleeper) failed(ctx context.Context) bool {
	s.mu.Lock()
	if s.interval == 0 {
		s.interval = sleeperInitial
	} else {
		s.interval = min(noisy(float64(s.interval)*sleeperUp), sleeperLongest)
	}
	d := s.interval
	s.mu.Unlock()
	return program.Rest(ctx, d)
}

// succeeded makes the delay shorter after some successes, and sleeps if there is one.
func (s *sleeper) succeeded(ctx context.Context) bool {
	s.mu.Lock()
	if s.interval > 0 {
		s.successes++
		if s.successes == sleeperThreshold {
			s.successes = 0
			s.interval = noisy(float64(s.interval) * sleeperDown)
			if s.interval < sleeperInitial {
				s.interval = 0
			}
		}
	}
	d := s.interval
	s.mu.Unlock()
	return d == 0 || program.Rest(ctx, d)
}

// delay returns what the next one sleeps.
func (s *sleeper) delay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interval
}

// noisy returns an interval that is longer or shorter by chance.
func noisy(interval float64) time.Duration {
	delta := min(sleeperNoise*interval, float64(sleeperMostNoise))
	return time.Duration(interval - delta + 2*delta*rand.Float64())
}
