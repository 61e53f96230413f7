package overload

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// simulation plays one case: clients, each with its throttle, and one backend.
type simulation struct {
	clock   *clock
	clients []Client
	budget  *budget // the backend, unless it queues
	queue   *queue  // the backend, if it queues
	pool    *pool   // the backend, if it is a Pool
	events  events  // of the queue or the pool
	record  *record
	retries retries
	tenants *tenantMix       // nil for a scenario without
	reports *reporter        // nil for a backend without reports
	failing Tiers            // of the phase: see traffic
	full    throttle.Outcome // of calls that the backend rejects for lack of capacity
}

func (r *runner) play(ctx context.Context, c *Case) (*record, error) {
	sim, err := r.newSimulation(c)
	if err != nil {
		return nil, err
	}
	arrivals := newRand(r.seed, r.scenario.Name, c.Name, "arrivals")
	for i := range c.Phases {
		p := &c.Phases[i]
		t := newTraffic(arrivals, len(sim.clients), p, r.scenario.Capacity)
		t.unequal, t.tenants = r.scenario.Unequal, sim.tenants
		if err := sim.play(ctx, p, &t, r.scenario.Capacity); err != nil {
			return nil, err
		}
	}
	patience := r.scenario.Service.Patience
	if sim.queue != nil {
		patience = callerTimeout
	}
	sim.runEvents(sim.clock.at + patience) // all callers have an answer then, or have timed out
	return sim.record, nil
}

func (r *runner) newSimulation(c *Case) (*simulation, error) {
	capacity := r.scenario.Capacity
	random := func(purpose string) *rand.Rand { return newRand(r.seed, r.scenario.Name, c.Name, purpose) }
	sim := &simulation{
		clock:   &clock{real: r.policy.RealClock, began: time.Unix(0, 0)},
		full:    r.options.full(),
		clients: make([]Client, c.Clients),
		record:  newRecord(c.Phases, c.Clients, capacity),
		tenants: newTenantMix(r.scenario.Tenants, random("tenants")),
	}
	sim.record.setTenants(r.scenario.Tenants)
	switch r.scenario.Backend {
	case Queue:
		sim.queue = newQueue(r.options.rejectionCost(), capacity)
		sim.events = sim.queue
	case Pool:
		sim.pool = &pool{Service: &r.scenario.Service, random: random("service")}
		sim.events = sim.pool
	default:
		sim.budget = newBudget(r.scenario.Backend == Aware, r.options.rejectionCost(), capacity*c.Phases[0].Capacity)
	}
	if r.scenario.Reports != nil {
		sim.reports = &reporter{Reports: *r.scenario.Reports, random: random("reports")}
		if sim.reports.Lie == Honest {
			sim.full = throttle.Overloaded // a throttle sheds
		}
	}
	env := Env{
		Now:      sim.clock.now,
		Rand:     random("clients").Float64,
		Settings: r.options.Settings, Weight: r.scenario.weightOf(),
	}
	policies := [2]Policy{*r.policy, *r.policy} // of even and of odd clients
	if r.scenario.Others != "" {
		others, err := FindPolicies(r.scenario.Others)
		if err != nil {
			return nil, err
		}
		policies[1] = others[0]
	}
	var err error
	if sim.retries, err = newRetries(cmp.Or(r.policy.Retry, r.scenario.Retry), c.Clients, env, random("retries")); err != nil {
		return nil, err
	}
	for i := range sim.clients {
		if sim.clients[i], err = policies[i%2].New(env); err != nil {
			return nil, err
		}
	}
	return sim, nil
}

func (s *simulation) play(ctx context.Context, p *Phase, t *traffic, capacity float64) error {
	begin, end := s.clock.at, s.clock.at+p.Length
	s.failing = t.failing
	switch {
	case s.pool != nil:
		s.pool.slower = cmp.Or(p.Slower, 1)
	case s.queue != nil:
		s.queue.setRate(begin, p.Capacity*capacity)
	default:
		s.budget.setRate(begin, p.Capacity*capacity)
	}
	for ctx.Err() == nil {
		wait, ok := t.next(end - s.clock.at)
		if !ok {
			break
		}
		at := s.clock.at + wait
		s.runUntil(at)
		s.clock.advance(at)
		s.offer(t.call())
	}
	s.runUntil(end)
	s.clock.advance(end)
	return ctx.Err()
}

// runUntil retries and ends the calls that are due until a time.
func (s *simulation) runUntil(until time.Duration) {
	for {
		next, ok := s.retries.next(until)
		if !ok {
			break
		}
		s.runEvents(next.at)
		s.clock.advance(next.at)
		next.offer.fails = s.retries.random.Float64() < s.failing[next.offer.priority]
		s.offer(next.offer)
	}
	s.runEvents(until)
}

// offer makes a call if the throttle of its client admits it. A retry is not another offered call.
func (s *simulation) offer(o offer) {
	now := s.clock.at
	e := s.record.at(now)
	if o.attempt == 0 {
		o.at = now
		e = s.record.offer(o)
	}
	token, admitted := s.admit(o)
	if !admitted {
		s.retries.ended(o, throttle.ErrShed, now)
		return
	}
	if o.attempt == 0 {
		e.Admitted[o.priority]++
	} else {
		e.resent++
	}
	s.record.open++
	s.record.mostOpen = max(s.record.mostOpen, s.record.open)
	switch {
	case s.pool != nil:
		s.pool.add(&waitingCall{token: token, offer: o, arrived: now})
	case s.queue == nil:
		outcome := s.answer(o, e)
		s.report(o)
		s.end(outcome, token, o)
	case o.fails || !s.queue.add(waitingCall{token: token, offer: o, arrived: now}):
		e.wasted += s.queue.reject(now)
		s.end(s.rejected(o), token, o)
	}
}

// answer returns the outcome of a call to a backend without a queue, and records its work.
func (s *simulation) answer(o offer, e *entry) throttle.Outcome {
	now := s.clock.at
	serves := !o.fails && s.budget.serve(now, o.sentAs())
	if s.reports != nil && !o.fails {
		s.reports.add(o.sentAs(), !serves)
	}
	if !serves {
		e.wasted += s.budget.reject(now)
		return s.rejected(o)
	}
	e.Useful++
	return throttle.Accepted
}

func (s *simulation) rejected(o offer) throttle.Outcome {
	if o.fails {
		return throttle.Rejected
	}
	return s.full
}

// end passes the outcome of an attempt to its client.
func (s *simulation) end(outcome throttle.Outcome, token Token, o offer) {
	err := errRejected
	s.record.open--
	if outcome == throttle.Accepted {
		err = nil
		s.record.success(o)
	}
	s.retries.ended(o, err, s.clock.at)
	s.clients[o.client].End(token, outcome)
}

// runEvents ends the calls that are served or time out until a time.
func (s *simulation) runEvents(until time.Duration) {
	for s.events != nil {
		at, c, served := s.events.next(until)
		if c == nil {
			return
		}
		s.clock.advance(at)
		e := s.record.at(at)
		switch {
		case !served:
			s.end(throttle.Rejected, c.token, c.offer)
		case c.over:
			e.wasted++
		default:
			e.Useful++
			s.end(throttle.Accepted, c.token, c.offer)
		}
		c.over = true
	}
}

// clock is the time of a case. Only advance moves it. A real clock moves the time of the
// surrounding bubble, for policies that read package time.
type clock struct {
	real  bool
	at    time.Duration // since the case began
	began time.Time
}

func (c *clock) now() time.Time {
	if c.real {
		return time.Now()
	}
	return c.began.Add(c.at)
}

func (c *clock) advance(to time.Duration) {
	if c.real {
		time.Sleep(to - c.at)
	}
	c.at = to
}
