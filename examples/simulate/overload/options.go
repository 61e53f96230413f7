package overload

import (
	"errors"
	"fmt"
)

const (
	mostClients  = 100_000
	mostCapacity = 1e6
)

// Options change what a scenario and a policy would be by themselves. Zero values change nothing.
type Options struct {
	Clients       int     // 1 to 100000, in every case; a throttle takes 13 kB
	Capacity      float64 // up to 1e6 calls per second; loads are multiples of it
	RejectionCost float64 // what a rejection costs the backend, in served calls; default 0.1, negative for nothing
	Settings      Settings
	// Bubble runs f in a bubble of testing/synctest. Without it policies with RealClock cannot be played.
	Bubble func(f func())
	// Progress is told now and then how much of the run is done, from 0 to 1.
	Progress func(done float64)
}

// Validate returns an error that names every field that is out of range, with its value and its range. Settings are left to the
// policy that they are for.
func (o Options) Validate() error {
	var errs []error
	demand := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("overload: Options.%s is %v: want %s", field, value, want))
		}
	}
	demand(o.Clients >= 0 && o.Clients <= mostClients, "Clients", o.Clients, "1 to 100000, or 0 for the scenario's")
	demand(o.Capacity == 0 || o.Capacity >= 1 && o.Capacity <= mostCapacity,
		"Capacity", o.Capacity, "1 to 1e6, or 0 for the scenario's")
	demand(o.RejectionCost <= 1, "RejectionCost", o.RejectionCost, "at most 1, 0 for 0.1, or negative for nothing")
	return errors.Join(errs...)
}

// rejectionCost returns what a rejection costs.
func (o *Options) rejectionCost() float64 {
	if o.RejectionCost == 0 {
		return usualCost
	}
	return max(0, o.RejectionCost)
}
