package overload

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Backend is how a backend selects calls if it cannot serve all of them.
type Backend uint8

// The kinds of backend.
const (
	Blind Backend = iota // serves calls while it has capacity, and rejects the others regardless of priority
	Aware                // serves higher priorities first
	Queue                // queues up to five seconds of work in order of arrival; callers time out after one second
	Pool                 // serves some calls at a time, each for some time: see Service
)

// Tiers has one number per standard priority.
type Tiers [throttle.StandardPriorities]float64

// Scenario is a backend, its clients, and the changes of load and capacity.
type Scenario struct {
	Name        string
	Family      string  // of related scenarios, such as "overload"
	Title       string  // one line that describes it
	Clients     int     // each has its own throttle
	KeepClients bool    // Options.Clients does not change them
	Capacity    float64 // calls per second that the healthy backend serves
	Backend     Backend
	Service     Service  // of a Pool
	Retry       string   // name of the retry rule of the clients; empty for none
	Unequal     bool     // the rates of the clients are from 1 to 100
	Reports     *Reports // of a backend that says its load; nil for none
	Tenants     []Tenant // on whose behalf the calls are made; empty for none
	Others      string   // name of the policy of every second client; empty for that of the run
	Cases       []Case   // usually one; a run plays all of them
}

// Case is a sequence of phases.
type Case struct {
	Name    string // empty if the scenario has one case
	Clients int    // 0 for the scenario's
	Phases  []Phase
}

// Phase is a part of a case with constant load and capacity.
type Phase struct {
	Length    time.Duration
	Load      Tiers   // calls per second offered, by priority, in multiples of the scenario's capacity
	Capacity  float64 // remaining share of the scenario's capacity
	Errors    float64 // share of the calls that the backend rejects for a reason other than load
	Failing   Tiers   // the same by priority, for a reason that concerns only this priority
	Slower    float64 // multiple of Service.Time, for calls whose service begins; 0 for 1, +Inf for calls that never end
	Active    float64 // share of the clients that make these calls; 0 for all
	Disturbed bool    // the phase is part of the disturbance
	Counted   bool    // Figures.FalseShed is of these phases
}

// Bounds of a scenario, so that each run ends.
const (
	maxLoad        = 1000
	maxPhaseLength = 24 * time.Hour
)

// validate returns an error that names each field that is out of range.
func (s *Scenario) validate() error {
	var errs []error
	want := func(good bool, format string, args ...any) {
		if !good {
			errs = append(errs, fmt.Errorf("overload: scenario %q: "+format, append([]any{s.Name}, args...)...))
		}
	}
	want(between(s.Clients, 1, maxClients), "Clients is %d: want 1 to %d", s.Clients, maxClients)
	want(between(s.Capacity, 1, maxCapacity), "Capacity is %v: want 1 to %v", s.Capacity, maxCapacity)
	want(s.Backend <= Pool, "Backend is %d: want Blind, Aware, Queue or Pool", s.Backend)
	want((s.Backend == Pool) == (s.Service.Time != nil), "Service.Time is set: %v: want it for a Pool, and for no other backend", s.Service.Time != nil)
	_, err := ruleOf(s.Retry)
	want(err == nil, "%w", err)
	want(len(s.Cases) > 0, "Cases is empty: want at least one")
	for i := range s.Cases {
		c := &s.Cases[i]
		want(between(c.Clients, 0, maxClients), "Cases[%d].Clients is %d: want 0 to %d", i, c.Clients, maxClients)
		want(len(c.Phases) > 0, "Cases[%d].Phases is empty: want at least one", i)
		for k := range c.Phases {
			c.Phases[k].validate(func(good bool, format string, args ...any) {
				want(good, "Cases[%d].Phases[%d]."+format, append([]any{i, k}, args...)...)
			})
		}
	}
	return errors.Join(errs...)
}

func (p *Phase) validate(want func(good bool, format string, args ...any)) {
	want(between(p.Length, width, maxPhaseLength), "Length is %v: want %v to %v", p.Length, width, maxPhaseLength)
	want(allBetween(p.Load, 0, maxLoad), "Load is %v: want 0 to %d each", p.Load, maxLoad)
	want(between(p.Capacity, 0, maxLoad), "Capacity is %v: want 0 to %d", p.Capacity, maxLoad)
	want(between(p.Errors, 0, 1), "Errors is %v: want 0 to 1", p.Errors)
	want(allBetween(p.Failing, 0, 1), "Failing is %v: want 0 to 1 each", p.Failing)
	want(between(p.Slower, 0, math.Inf(1)), "Slower is %v: want 0 or more", p.Slower)
	want(between(p.Active, 0, 1), "Active is %v: want 0 to 1", p.Active)
}

// between reports whether low <= x <= high. It is false for NaN.
func between[T int | float64 | time.Duration](x, low, high T) bool {
	return low <= x && x <= high
}

func allBetween(all Tiers, low, high float64) bool {
	for _, x := range all {
		if !between(x, low, high) {
			return false
		}
	}
	return true
}
