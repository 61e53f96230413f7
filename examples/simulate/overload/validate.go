package overload

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of scenarios, so that no run is endless.
const (
	mostLoad     = 1000
	longestPhase = 24 * time.Hour
)

// validate returns an error for a policy that cannot be played.
func (p *Policy) validate() error {
	if p.New == nil {
		return fmt.Errorf("overload: policy %q has no New", p.Name)
	}
	return nil
}

// validate returns an error for a scenario that makes no sense.
func (s *Scenario) validate() error {
	var errs []error
	demand := func(good bool, format string, args ...any) {
		if !good {
			errs = append(errs, fmt.Errorf("overload: scenario %q: "+format, append([]any{s.Name}, args...)...))
		}
	}
	demand(between(s.Clients, 1, mostClients), "Clients is %d: want 1 to %d", s.Clients, mostClients)
	demand(between(s.Capacity, 1, mostCapacity), "Capacity is %v: want 1 to %v", s.Capacity, mostCapacity)
	demand(s.Backend <= Queue, "Backend is %d: want Blind, Aware or Queue", s.Backend)
	demand(len(s.Cases) > 0, "Cases is empty")
	for i := range s.Cases {
		c := &s.Cases[i]
		demand(between(c.Clients, 0, mostClients), "Cases[%d].Clients is %d: want 0 to %d", i, c.Clients, mostClients)
		demand(len(c.Phases) > 0, "Cases[%d].Phases is empty", i)
		for k := range c.Phases {
			c.Phases[k].validate(func(good bool, format string, args ...any) {
				demand(good, "Cases[%d].Phases[%d]."+format, append([]any{i, k}, args...)...)
			})
		}
	}
	return errors.Join(errs...)
}

// validate demands that everything is in range.
func (p *Phase) validate(demand func(good bool, format string, args ...any)) {
	demand(between(p.Length, width, longestPhase), "Length is %v: want %v to %v", p.Length, width, longestPhase)
	demand(allBetween(p.Load, 0, mostLoad), "Load is %v: want 0 to %d each", p.Load, mostLoad)
	demand(between(p.Capacity, 0, mostLoad), "Capacity is %v: want 0 to %d", p.Capacity, mostLoad)
	demand(between(p.Errors, 0, 1), "Errors is %v: want 0 to 1", p.Errors)
	demand(allBetween(p.Failing, 0, 1), "Failing is %v: want 0 to 1 each", p.Failing)
}

// between reports whether lowest <= x <= highest, which no NaN is.
func between[T int | float64 | time.Duration](x, lowest, highest T) bool {
	return lowest <= x && x <= highest
}

func allBetween(all Tiers, lowest, highest float64) bool {
	for _, x := range all {
		if !between(x, lowest, highest) {
			return false
		}
	}
	return true
}
