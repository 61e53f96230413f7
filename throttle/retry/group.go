package retry

import (
	"iter"
	"reflect"
	"sync"

	"github.com/spillway-go/spillway/throttle"
)

// A Group has a Retrier for each throttle of a [throttle.Group], and so a budget for each backend.
// Create one with [NewGroup], and give its Hooks to the throttles:
//
//	retriers, err := retry.NewGroup(retry.Config{})
//	...
//	throttles, err := throttle.NewGroup(func(string) throttle.Config {
//		return throttle.Config{Name: "tenants", Hooks: retriers.Hooks(throttle.Hooks{})}
//	}, throttle.GroupConfig{})
//
// All methods are safe for concurrent use.
type Group struct {
	config   Config
	retriers sync.Map // *throttle.Throttle to *Retrier
}

// NewGroup returns a Group whose Retriers have the settings of c. Each has the throttle that it is
// made for, and its name unless c has one. If it has, a Control accepts settings of that name before. If fields of c are out of range, NewGroup returns an error
// that names each of them, its value and its range.
func NewGroup(c Config) (*Group, error) {
	checked := c
	if checked.Name == "" {
		checked.Name = "group" // each Retrier has the name of its throttle
	}
	if err := checked.Validate(); err != nil {
		return nil, err
	}
	if announced := defaultHooks.Or(c.Hooks).Announced; announced != nil && c.Name != "" {
		announced(c.Name)
	}
	return &Group{config: c}, nil
}

// Hooks returns hooks for the throttles, by which a Retrier begins and ends with its throttle. They
// also call own, or [throttle.DefaultHooks] if own has none.
func (g *Group) Hooks(own throttle.Hooks) throttle.Hooks {
	if reflect.ValueOf(own).IsZero() {
		own = throttle.DefaultHooks()
	}
	return throttle.JoinHooks(own, throttle.Hooks{Created: g.add, Closed: g.remove})
}

// add makes the Retrier of a throttle. It has a valid Config: NewGroup and the throttle have checked
// all fields.
func (g *Group) add(t *throttle.Throttle) {
	c := g.config
	c.Throttle = t
	if r, err := New(c); err == nil {
		g.retriers.Store(t, r)
	}
}

func (g *Group) remove(t *throttle.Throttle) {
	if r, ok := g.retriers.LoadAndDelete(t); ok {
		_ = r.(*Retrier).Close()
	}
}

// Of returns the Retrier of a throttle, or nil if the throttle does not have the Hooks or is closed.
func (g *Group) Of(t *throttle.Throttle) *Retrier {
	if r, ok := g.retriers.Load(t); ok {
		return r.(*Retrier)
	}
	return nil
}

// All yields the Retriers of all open throttles, in no order.
func (g *Group) All() iter.Seq[*Retrier] {
	return func(yield func(*Retrier) bool) {
		g.retriers.Range(func(_, r any) bool { return yield(r.(*Retrier)) })
	}
}
