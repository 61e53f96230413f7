package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	capacity = 100          // calls per second that the backend can serve
	offered  = 4 * capacity // calls per second during the overload
	overload = 10           // its length in seconds
)

// simulation is a backend with a limited capacity, a clock, and seeded random numbers. A program of
// yours needs none of these.
type simulation struct {
	clock   *throttletest.Clock
	random  *rand.Rand
	backend *throttletest.Backend
}

func newSimulation() (*simulation, error) {
	s := &simulation{clock: throttletest.NewClock(time.Unix(0, 0)), random: rand.New(rand.NewPCG(1, 3))}
	var err error
	s.backend, err = throttletest.NewBackend(throttletest.BackendConfig{Capacity: capacity, Now: s.clock.Now})
	return s, err
}

// recommend calls the backend.
func (s *simulation) recommend(ctx context.Context, _ string) ([]string, error) {
	if err := s.backend.Call(ctx); err != nil {
		return nil, err
	}
	return []string{"apples", "pears"}, nil
}

// overload makes equally many calls of each priority, in random order.
func (s *simulation) overload(ctx context.Context, th *throttle.Throttle) {
	for range overload * offered / throttle.StandardPriorities {
		s.clock.Advance(time.Second * throttle.StandardPriorities / offered)
		for _, p := range s.random.Perm(throttle.StandardPriorities) {
			_ = th.Do(ctx, throttle.Priority(p), s.backend.Call) // the throttle counts the outcome
		}
	}
}
