package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// simulation plays one case: clients, each with its throttle, and one backend.
type simulation struct {
	clock   *clock
	clients []Client
	budget  *budget // the backend, unless it queues
	queue   *queue  // the backend, if it queues
	record  *record
}

// play plays one case.
func (r *runner) play(c *Case) (*record, error) {
	sim, err := r.newSimulation(c)
	if err != nil {
		return nil, err
	}
	arrivals := newRand(r.seed, r.scenario.Name, c.Name, "arrivals")
	for i := range c.Phases {
		p := &c.Phases[i]
		t := newTraffic(arrivals, len(sim.clients), p, r.scenario.Capacity)
		if err := sim.play(p, &t, r.scenario.Capacity, r.monitor); err != nil {
			return nil, err
		}
	}
	if sim.queue != nil {
		sim.runQueue(sim.clock.at + callerTimeout) // all callers have an answer then, or have timed out
	}
	return sim.record, nil
}

// newSimulation makes the clients and the backend of a case.
func (r *runner) newSimulation(c *Case) (*simulation, error) {
	capacity := r.scenario.Capacity
	sim := &simulation{
		clock:   newClock(r.policy.RealClock),
		clients: make([]Client, c.Clients),
		record:  newRecord(c.Phases, c.Clients, capacity),
	}
	if r.scenario.Backend == Queue {
		sim.queue = newQueue(r.cost, capacity)
	} else {
		sim.budget = newBudget(r.scenario.Backend == Aware, r.cost, capacity*c.Phases[0].Capacity)
	}
	env := Env{
		Now:      sim.clock.now,
		Rand:     newRand(r.seed, r.scenario.Name, c.Name, "clients").Float64,
		Settings: r.settings,
	}
	for i := range sim.clients {
		var err error
		if sim.clients[i], err = r.policy.New(env); err != nil {
			return nil, err
		}
	}
	return sim, nil
}

// play plays one phase.
func (s *simulation) play(p *Phase, t *traffic, capacity float64, m *monitor) error {
	begin, end := s.clock.at, s.clock.at+p.Length
	if s.queue != nil {
		s.queue.setRate(begin, p.Capacity*capacity)
	} else {
		s.budget.setRate(begin, p.Capacity*capacity)
	}
	for {
		wait, ok := t.next(end - s.clock.at)
		if !ok {
			break
		}
		at := s.clock.at + wait
		if s.queue != nil {
			s.runQueue(at)
		}
		s.clock.advance(at)
		s.offer(t.call())
		if err := m.call(at - begin); err != nil {
			return err
		}
	}
	if s.queue != nil {
		s.runQueue(end)
	}
	s.clock.advance(end)
	return m.endPhase(p.Length)
}

// offer makes a call if the throttle of its client admits it.
func (s *simulation) offer(o offer) {
	now := s.clock.at
	e := s.record.offer(o, now)
	token, admitted := s.clients[o.client].Admit(o.priority)
	if !admitted {
		return
	}
	e.admitted[o.priority]++
	switch {
	case s.queue == nil:
		s.end(s.answer(o, e), token, o, now)
	case o.fails || !s.queue.add(queuedCall{token: token, offer: o, arrived: now}):
		e.wasted += s.queue.reject(now)
		s.end(false, token, o, now)
	}
}

// answer reports whether a backend without a queue serves a call, and records its work.
func (s *simulation) answer(o offer, e *entry) bool {
	now := s.clock.at
	if o.fails || !s.budget.serve(now, o.priority) {
		e.wasted += s.budget.reject(now)
		return false
	}
	e.useful++
	return true
}

// end passes the outcome of a call, offered at a time, to its client.
func (s *simulation) end(served bool, token Token, o offer, offered time.Duration) {
	outcome := throttle.Rejected
	if served {
		outcome = throttle.Accepted
		s.record.success(o, offered)
	}
	s.clients[o.client].End(token, outcome)
}

// runQueue serves and times out the queued calls that are due until a time.
func (s *simulation) runQueue(until time.Duration) {
	for {
		at, served := s.queue.next()
		if at > until {
			return
		}
		s.clock.advance(at)
		if !served {
			c := s.queue.timeOut()
			s.end(false, c.token, c.offer, c.arrived)
			continue
		}
		c, useful := s.queue.serve(at)
		if e := s.record.at(at); useful {
			e.useful++
			s.end(true, c.token, c.offer, c.arrived)
		} else {
			e.wasted++
		}
	}
}

// clock is the time of a case. Only advance moves it. A real clock moves the time of the
// surrounding bubble, for policies that read package time.
type clock struct {
	real  bool
	at    time.Duration // since the case began
	began time.Time
}

// newClock returns a clock at the beginning of a case.
func newClock(bubble bool) *clock {
	return &clock{real: bubble, began: time.Unix(0, 0)}
}

// now returns the time for policies.
func (c *clock) now() time.Time {
	if c.real {
		return time.Now()
	}
	return c.began.Add(c.at)
}

// advance moves the clock.
func (c *clock) advance(to time.Duration) {
	if c.real {
		time.Sleep(to - c.at)
	}
	c.at = to
}
