package main

import (
	"context"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// director plays a scenario, until a visitor takes over.
type director struct {
	shop     *shop.Shop
	scenario scenario

	mu    sync.Mutex
	gone  chan struct{} // closed when somebody else decides what happens
	begun time.Time     // when there was trouble for the first time
}

func newDirector(s *shop.Shop, sc scenario) *director {
	return &director{shop: s, scenario: sc, gone: make(chan struct{})}
}

// play plays the scenario until ctx ends or the director leaves.
func (d *director) play(ctx context.Context) {
	before := d.shop.Settings()
	for len(d.scenario.acts) > 0 {
		for _, a := range d.scenario.acts {
			if !d.begin(a, before) || a.length == 0 || !d.wait(ctx, a.length) {
				return
			}
		}
	}
}

// begin begins an act, and reports whether it was still for the director to do so. What acts may change is first as it was before all
// of them.
func (d *director) begin(a act, before shop.Settings) bool {
	return d.set(func(now *shop.Settings) {
		now.Load, now.Backend = before.Load, before.Backend
		if a.worsen == nil {
			return
		}
		if d.begun.IsZero() {
			d.begun = time.Now()
		}
		a.worsen(now)
	})
}

// wait lets time pass, and reports whether the play goes on.
func (d *director) wait(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-d.gone:
	}
	return false
}

// set changes the settings, and reports whether it was still for the director to do so. The change is made with the lock held.
func (d *director) set(change func(*shop.Settings)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left() {
		return false
	}
	_, err := d.shop.Change(change)
	return err == nil
}

// yield lets somebody else change the settings, and ends the play if that is done and it is about what the director decides.
func (d *director) yield(change func(*shop.Settings), ends bool) (shop.Settings, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := d.shop.Change(change)
	if err == nil && ends && !d.left() {
		close(d.gone)
	}
	return now, err
}

func (d *director) left() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

// troubleSince returns when there was trouble for the first time, if there was.
func (d *director) troubleSince() (begun time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun, !d.begun.IsZero()
}
