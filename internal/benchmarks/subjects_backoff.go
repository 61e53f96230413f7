package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// The names of the backoff subjects that have bounds.
const (
	backoffFree    = "backoff, Wait and Done"
	backoffDelayed = "backoff, Wait and Done, a delay whose gap is over"
	backoffDo      = "backoff, Do"
)

var errHasSlept = errors.New("has slept")

// backoffs returns calls through a backoff that do not wait.
func backoffs() []*subject {
	ctx := context.Background()
	free := backoffOf(backoff.Config{})
	return []*subject{
		{name: backoffFree, pair: true, op: func() error { return waited(free) }},
		{name: backoffDelayed, op: delayed()},
		{name: backoffDo, pair: true, op: func() error {
			_, err := backoff.Do(ctx, free, noopValue)
			return err
		}},
	}
}

func backoffOf(c backoff.Config) *backoff.Responsive {
	c.Name = "bench"
	return backoff.Must(backoff.New(c))
}

// waited makes a successful call that does not wait.
func waited(r *backoff.Responsive) error {
	p, err := r.Wait(context.Background())
	if err != nil {
		return err
	}
	err = noop(context.Background())
	p.Finish(backoff.Success)
	return err
}

// delayed makes calls through 64 backoffs in turn. Each has the shortest delay, a microsecond, which is
// over before its next turn. If a call sleeps all the same, delayed returns errHasSlept.
func delayed() func() error {
	var slept atomic.Bool
	many := make([]*backoff.Responsive, 64)
	for i := range many {
		many[i] = backoffOf(backoff.Config{
			InitialInterval: time.Microsecond, MaxInterval: time.Microsecond, RandomizationFactor: -1, DownMultiplierThreshold: 1e6, IdleReset: -1,
			Hooks: backoff.Hooks{Slept: func(context.Context, backoff.SleepEvent) { slept.Store(true) }},
		})
		many[i].BackOff().NextBackOff()
	}
	n := 0
	return func() error {
		n = (n + 1) % len(many)
		if err := waited(many[n]); err != nil {
			return err
		}
		if slept.Load() {
			return errHasSlept
		}
		return nil
	}
}
