package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// The names of what is asked of a backoff.
const (
	backoffFree    = "backoff, Wait and Done"
	backoffDelayed = "backoff, Wait and Done, a delay whose gap is over"
	backoffDo      = "backoff, Do"
)

var errHasSlept = errors.New("has slept")

// backoffs are calls through a Responsive that need not wait.
func backoffs() []*subject {
	ctx := context.Background()
	free := backoffOf(backoff.Config{})
	return []*subject{
		{name: backoffFree, pair: true, op: func() error { return waited(free) }},
		{name: backoffDelayed, op: delayed()},
		{name: backoffDo, pair: true, op: func() error {
			_, err := backoff.Do(ctx, free, nil, noopValue)
			return err
		}},
	}
}

func backoffOf(c backoff.Config) *backoff.Responsive {
	c.Name = "bench"
	return backoff.Must(backoff.New(c))
}

// waited makes a call whose turn it is, and which is served.
func waited(r *backoff.Responsive) error {
	p, err := r.Wait(context.Background())
	if err != nil {
		return err
	}
	err = noop(context.Background())
	p.Done(backoff.Success)
	return err
}

// delayed makes calls by turns through many that have the shortest delay there is, a microsecond, which is over when the turn of each comes again. It
// is told if it is not.
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
