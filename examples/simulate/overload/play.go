package overload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/throttle"
)

const (
	maxClients           = 100_000
	maxCapacity          = 1e6
	defaultRejectionCost = 0.1
)

// Options change scenarios and policies. A zero field changes nothing.
type Options struct {
	Clients       int     // 1 to 100000, in every case, unless the scenario keeps its own; a throttle takes 13 kB
	Capacity      float64 // 1 to 1e6 calls per second; loads are multiples of it
	RejectionCost float64 // cost of a rejection for the backend, in served calls; default 0.1, negative for 0
	Reports       bool    // a Blind backend serves higher priorities first, and says its load, see Reports
	Certain       bool    // rejections for lack of capacity are throttle.Overloaded, not throttle.Rejected
	Settings      Settings
	// Bubble runs f in a bubble of testing/synctest. Required for policies with RealClock.
	Bubble func(f func())
}

// Validate returns an error that names each field that is out of range, with its value and its
// range. It does not check Settings: the policy does.
func (o Options) Validate() error {
	var errs []error
	want := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("overload: Options.%s is %v: want %s", field, value, want))
		}
	}
	want(o.Clients >= 0 && o.Clients <= maxClients, "Clients", o.Clients, "1 to 100000, or 0 for the scenario's")
	want(o.Capacity == 0 || o.Capacity >= 1 && o.Capacity <= maxCapacity,
		"Capacity", o.Capacity, "1 to 1e6, or 0 for the scenario's")
	want(o.RejectionCost <= 1, "RejectionCost", o.RejectionCost, "at most 1, 0 for 0.1, or negative for nothing")
	return errors.Join(errs...)
}

func (o *Options) rejectionCost() float64 {
	if o.RejectionCost == 0 {
		return defaultRejectionCost
	}
	return max(0, o.RejectionCost)
}

// full returns the outcome of the calls that the backend rejects for lack of capacity.
func (o *Options) full() throttle.Outcome {
	if o.Certain {
		return throttle.Overloaded
	}
	return throttle.Rejected
}

// apply returns the scenario with the changes of the options. Every case has its number of clients
// set.
func (o *Options) apply(s Scenario) Scenario {
	if o.Capacity != 0 {
		s.Capacity = o.Capacity
	}
	if o.Reports && s.Backend == Blind && s.Reports == nil {
		s.Backend, s.Reports = Aware, &Reports{}
	}
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases {
		c := &s.Cases[i]
		switch {
		case o.Clients != 0 && !s.KeepClients:
			c.Clients = o.Clients
		case c.Clients == 0:
			c.Clients = s.Clients
		}
	}
	return s
}

// Outcome is the result of one run.
type Outcome struct {
	Scenario, Policy string
	Seed             uint64
	Figures          Figures
	Series           []Second
}

// Play runs a scenario once. If the context ends first, Play returns its error.
//
// The offered calls are the same for every policy. The same seed gives exactly the same outcome,
// unless the policy uses random numbers that cannot be seeded.
func Play(ctx context.Context, s Scenario, p Policy, seed uint64, o Options) (Outcome, error) {
	if err := errors.Join(o.Validate(), s.validate(), p.validate()); err != nil {
		return Outcome{}, err
	}
	s = o.apply(s)
	r := &runner{scenario: &s, policy: &p, seed: seed, options: &o}
	if !p.RealClock {
		return r.run(ctx)
	}
	if o.Bubble == nil {
		return Outcome{}, fmt.Errorf("overload: Options.Bubble is nil: want a function that runs policy %s in a bubble of testing/synctest, because it reads the real clock", p.Name)
	}
	out, err := Outcome{}, errors.New("overload: Options.Bubble did not call its function")
	o.Bubble(func() { out, err = r.run(ctx) })
	return out, err
}

type runner struct {
	scenario *Scenario
	policy   *Policy
	seed     uint64
	options  *Options
}

func (r *runner) run(ctx context.Context) (Outcome, error) {
	out := Outcome{Scenario: r.scenario.Name, Policy: r.policy.Name, Seed: r.seed}
	var records []*record
	var figures []Figures
	for i := range r.scenario.Cases {
		c := &r.scenario.Cases[i]
		record, err := r.play(ctx, c)
		if err != nil {
			return Outcome{}, err
		}
		records = append(records, record)
		figures = append(figures, measure(record, c))
	}
	out.Figures, out.Series = combine(figures), seriesOf(records)
	return out, nil
}
