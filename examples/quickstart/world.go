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
	overload = 10           // its seconds
)

// world is what the calls meet: a backend with a capacity, and a clock and dice that are always the same.
type world struct {
	clock   *throttletest.Clock
	dice    *rand.Rand
	backend *throttletest.Backend
}

func newWorld() (*world, error) {
	w := &world{clock: throttletest.NewClock(time.Unix(0, 0)), dice: rand.New(rand.NewPCG(1, 2))}
	var err error
	w.backend, err = throttletest.NewBackend(throttletest.BackendConfig{Capacity: capacity, Now: w.clock.Now})
	return w, err
}

// recommend asks the backend.
func (w *world) recommend(ctx context.Context, _ string) ([]string, error) {
	if err := w.backend.Call(ctx); err != nil {
		return nil, err
	}
	return []string{"apples", "pears"}, nil
}

// overload makes as many calls of each priority, evenly and in no order.
func (w *world) overload(ctx context.Context, th *throttle.Throttle) {
	for range overload * offered / throttle.StandardPriorities {
		w.clock.Advance(time.Second * throttle.StandardPriorities / offered)
		for _, p := range w.dice.Perm(throttle.StandardPriorities) {
			_ = th.Do(ctx, throttle.Priority(p), w.backend.Call) // what became of it, the throttle knows
		}
	}
}
