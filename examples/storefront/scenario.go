package main

import (
	"context"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// scenario is a list of phases, which are repeated. The zero scenario changes nothing.
type scenario struct {
	name   string
	phases []phase
}

// phase is a part of a scenario. It begins with the load and backend from before the scenario.
type phase struct {
	length  time.Duration // 0 is until the end
	load    float64       // 0 is that from before the scenario
	backend shop.Health   // Up is that from before the scenario
}

func (ph phase) calm() bool { return ph.load == 0 && ph.backend == shop.Up }

func scenarios() []scenario {
	const second, minute, forever = time.Second, time.Minute, 0
	calm := func(length time.Duration) phase { return phase{length: length} }
	return []scenario{
		{"overload", []phase{calm(3 * second), {length: forever, load: 4}}},
		{"outage", []phase{calm(5 * second), {length: 10 * second, backend: shop.Down}, calm(15 * second)}},
		{"brownout", []phase{calm(5 * second), {length: 10 * second, backend: shop.Brownout}, calm(15 * second)}},
		{"slow", []phase{calm(5 * second), {length: 15 * second, backend: shop.Slow}, calm(15 * second)}},
		// A page fires after two or three minutes, and ends within five minutes after the incident.
		// So ten minutes of calm are half of them without an alert. In the outage visitors reload the page.
		{"tour", []phase{
			calm(2 * minute),
			{length: 5 * minute, load: 4},
			calm(10 * minute),
			{length: 4 * minute, load: 4, backend: shop.Down},
			calm(10 * minute),
		}},
	}
}

// findScenario returns the scenario with a name. The name "none" is the zero scenario.
func findScenario(name string) (sc scenario, ok bool) {
	for _, sc := range scenarios() {
		if sc.name == name {
			return sc, true
		}
	}
	return scenario{}, name == "none"
}

// scenarioPlayer plays a scenario until a visitor changes the load or the backend.
type scenarioPlayer struct {
	shop     *shop.Shop
	scenario scenario

	mu        sync.Mutex
	stop      chan struct{} // closed when a visitor has taken over
	disturbed time.Time     // the start of the first phase that is not calm
}

// run plays the scenario until ctx ends or a visitor takes over.
func (p *scenarioPlayer) run(ctx context.Context) {
	before := p.shop.Settings()
	for len(p.scenario.phases) > 0 {
		for _, ph := range p.scenario.phases {
			if !p.begin(ph, before) || ph.length == 0 || !p.wait(ctx, ph.length) {
				return
			}
		}
	}
}

// begin restores load and backend, and makes the changes of a phase. It returns false if a visitor
// has taken over.
func (p *scenarioPlayer) begin(ph phase, before shop.Settings) bool {
	return p.apply(func(now *shop.Settings) {
		now.Load, now.Backend = before.Load, before.Backend
		if ph.load > 0 {
			now.Load = ph.load
		}
		if ph.backend != shop.Up {
			now.Backend = ph.backend
		}
		if !ph.calm() && p.disturbed.IsZero() {
			p.disturbed = time.Now()
		}
	})
}

// wait waits for d. It returns false if ctx ends or a visitor takes over first.
func (p *scenarioPlayer) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-p.stop:
	}
	return false
}

// apply changes the settings with the lock held. It returns false if a visitor has taken over.
func (p *scenarioPlayer) apply(change func(*shop.Settings)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped() {
		return false
	}
	_, err := p.shop.Change(change)
	return err == nil
}

// override makes the change of a visitor. If stops is set and the change is valid, the scenario
// stops.
func (p *scenarioPlayer) override(change func(*shop.Settings), stops bool) (shop.Settings, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := p.shop.Change(change)
	if err == nil && stops && !p.stopped() {
		close(p.stop)
	}
	return now, err
}

func (p *scenarioPlayer) stopped() bool {
	select {
	case <-p.stop:
		return true
	default:
		return false
	}
}

// disturbedSince returns the start of the first phase that was not calm, if there was one.
func (p *scenarioPlayer) disturbedSince() (begun time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.disturbed, !p.disturbed.IsZero()
}
