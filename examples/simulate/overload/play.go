package overload

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// usualCost is what a rejection costs a backend, in served calls.
const usualCost = 0.1

// Outcome is what became of one run.
type Outcome struct {
	Scenario, Policy string
	Seed             uint64
	Figures          Figures
	Series           Series
}

// Play plays a scenario once. If the context ends before the run does it returns the context's error.
//
// The calls offered are the same for every policy, and the same seed has the same outcome to the last bit, unless the policy draws
// from dice that nobody can seed.
func Play(ctx context.Context, s Scenario, p Policy, seed uint64, o Options) (Outcome, error) {
	if err := errors.Join(o.Validate(), s.validate(), p.validate()); err != nil {
		return Outcome{}, err
	}
	s = o.apply(s)
	st := &stage{
		scenario: &s, policy: &p, seed: seed, cost: o.rejectionCost(), settings: o.Settings,
		pulse: newPulse(ctx, s.Cases, o.Progress),
	}
	if !p.RealClock {
		return st.run()
	}
	if o.Bubble == nil {
		return Outcome{}, fmt.Errorf("overload: policy %s looks at the real clock: it needs Options.Bubble, which runs it in a bubble of testing/synctest", p.Name)
	}
	out, err := Outcome{}, errors.New("overload: Options.Bubble did not run what it was given")
	o.Bubble(func() { out, err = st.run() })
	return out, err
}

// run plays every case.
func (s *stage) run() (Outcome, error) {
	out := Outcome{Scenario: s.scenario.Name, Policy: s.policy.Name, Seed: s.seed}
	var records []*record
	var figures []Figures
	for i := range s.scenario.Cases {
		c := &s.scenario.Cases[i]
		r, err := s.play(c)
		if err != nil {
			return Outcome{}, err
		}
		records = append(records, r)
		figures = append(figures, measure(r, c))
	}
	out.Figures, out.Series = combine(figures), seriesOf(records)
	return out, nil
}

// apply returns the scenario with the options' changes, and with the number of clients in every case.
func (o *Options) apply(s Scenario) Scenario {
	if o.Capacity != 0 {
		s.Capacity = o.Capacity
	}
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases {
		c := &s.Cases[i]
		switch {
		case o.Clients != 0:
			c.Clients = o.Clients
		case c.Clients == 0:
			c.Clients = s.Clients
		}
	}
	return s
}
