package main

import (
	"sync"

	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/breakerz"
)

// mostNamed is how many circuits that are not closed have a series of their own.
const mostNamed = 100

// telemetry is what can be seen of the breakers while they work, if anybody looks.
type telemetry struct {
	*watch.Server

	mu      sync.Mutex
	removes map[*breaker.Manager]func() // take a breaker off the page
}

// openTelemetry serves at an address, if there is one. Circuits that are not closed are named: these keys are nobody's secret.
func openTelemetry(address string) (*telemetry, error) {
	w, err := watch.Open(address, otelthrottle.WithBreakerDetail(mostNamed))
	return &telemetry{Server: w, removes: map[*breaker.Manager]func(){}}, err
}

// hooks are for the breakers of all agents.
func (t *telemetry) hooks() breaker.Hooks {
	if t.Server == nil {
		return breaker.Hooks{}
	}
	return breaker.JoinHooks(t.Adapter.BreakerHooks(), breaker.Hooks{Created: t.show, Closed: t.hide})
}

func (t *telemetry) show(m *breaker.Manager) {
	remove := t.Page.Add(breakerz.Source(m))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removes[m] = remove
}

func (t *telemetry) hide(m *breaker.Manager) {
	t.mu.Lock()
	remove := t.removes[m]
	delete(t.removes, m)
	t.mu.Unlock()
	if remove != nil {
		remove()
	}
}
