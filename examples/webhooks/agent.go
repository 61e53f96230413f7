package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

const (
	agents = 3
	// workersPerAgent is enough while the endpoints answer. It is not enough if the workers wait
	// for the timeouts of dead endpoints.
	workersPerAgent = 6
)

// agent is one process of a dispatcher. All agents are in one process here, and have a
// breaker.Manager each.
type agent struct {
	name     string
	manager  *breaker.Manager
	circuits []*breaker.Circuit // of the endpoints
}

// newAgent makes an agent. The managers of all agents have the same store, name and settings, so
// they share the circuits. Config has no Hooks: the default hooks, set by watch.Open, report the
// manager.
func (d *dispatcher) newAgent(n int) (*agent, error) {
	round := d.settings.round
	m, err := breaker.New(breaker.Config{
		Name:  breakerName,
		Store: d.storage.store,
		Poll:  d.storage.poller.Poll,
		Mode:  d.settings.mode,

		// These times are short, so that circuits open and close within seconds. The defaults suit
		// a real dispatcher.
		SampleRate:          round,
		ObservabilityWindow: window * round,
		StoreTimeout:        2 * time.Second, // the machine may be busy
		BreakerTimeout:      4 * round,

		MinimumRequestCount:         4,
		HalfOpenProbes:              4,
		ConsecutiveFailureThreshold: 3, // the third trip in a row disables the endpoint
	})
	a := &agent{name: fmt.Sprintf("agent-%d", n), manager: m}
	for _, e := range d.endpoints {
		a.circuits = append(a.circuits, m.Circuit(e.key))
	}
	return a, err
}

// run keeps the breaker up to date and delivers, until ctx ends.
func (a *agent) run(ctx context.Context, d *dispatcher) {
	var all sync.WaitGroup
	all.Go(func() { _ = a.manager.Run(ctx) })
	for range workersPerAgent {
		all.Go(func() {
			for {
				select {
				case n := <-d.queue:
					a.deliver(ctx, d, n)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
	_ = a.manager.Close() // always returns nil
}

// deliver makes one delivery, if the circuit of the endpoint lets it through.
func (a *agent) deliver(ctx context.Context, d *dispatcher, n int) {
	err := a.circuits[n].Do(ctx, func(ctx context.Context) error {
		e := d.endpoints[n]
		err := e.post(ctx, d.settings.round)
		if ctx.Err() != nil {
			return ctx.Err() // the dispatcher stops: the delivery does not count for the endpoint
		}
		return errors.Join(err, d.storage.record(ctx, e.key, a.name, err != nil))
	})
	var shed *breaker.ShedError
	switch {
	case err == nil:
		d.delivered.Add(1)
	case errors.Is(err, breaker.ErrDisabled):
		d.shed.Add(1) // a dispatcher of yours keeps it until the endpoint is enabled
	case errors.As(err, &shed):
		d.shed.Add(1) // a dispatcher of yours tries again after shed.RetryAfter()
	case ctx.Err() == nil:
		d.failed.Add(1) // a dispatcher of yours tries again later
	}
}
