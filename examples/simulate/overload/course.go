package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// course is a case being played: clients, each behind its throttle, and one backend.
type course struct {
	clock   *clock
	clients []Client
	budget  *budget // the backend, unless it queues
	line    *line   // the backend, if it queues
	record  *record
}

// stage says what courses of one run have in common.
type stage struct {
	scenario *Scenario
	policy   *Policy
	seed     uint64
	cost     float64 // of a rejection
	settings Settings
	pulse    *pulse
}

// play plays one case.
func (s *stage) play(c *Case) (*record, error) {
	co, err := s.newCourse(c)
	if err != nil {
		return nil, err
	}
	arrivals := dice(s.seed, s.scenario.Name, c.Name, "arrivals")
	for i := range c.Phases {
		p := &c.Phases[i]
		t := newTraffic(arrivals, len(co.clients), p, s.scenario.Capacity)
		if err := co.play(p, &t, s.scenario.Capacity, s.pulse); err != nil {
			return nil, err
		}
	}
	if co.line != nil {
		co.settle(co.clock.at + patience) // by then every caller knows
	}
	return co.record, nil
}

// newCourse makes the clients and the backend of a case.
func (s *stage) newCourse(c *Case) (*course, error) {
	capacity := s.scenario.Capacity
	co := &course{
		clock:   newClock(s.policy.RealClock),
		clients: make([]Client, c.Clients),
		record:  newRecord(c.Phases, c.Clients, capacity),
	}
	if s.scenario.Backend == Queue {
		co.line = newLine(s.cost, capacity)
	} else {
		co.budget = newBudget(s.scenario.Backend == Aware, s.cost, capacity*c.Phases[0].Capacity)
	}
	env := Env{
		Now:      co.clock.now,
		Rand:     dice(s.seed, s.scenario.Name, c.Name, "clients").Float64,
		Settings: s.settings,
	}
	for i := range co.clients {
		var err error
		if co.clients[i], err = s.policy.New(env); err != nil {
			return nil, err
		}
	}
	return co, nil
}

// play plays one phase.
func (co *course) play(p *Phase, t *traffic, capacity float64, beat *pulse) error {
	begin, end := co.clock.at, co.clock.at+p.Length
	if co.line != nil {
		co.line.retune(begin, p.Capacity*capacity)
	} else {
		co.budget.retune(begin, p.Capacity*capacity)
	}
	for {
		wait, ok := t.next(end - co.clock.at)
		if !ok {
			break
		}
		at := co.clock.at + wait
		if co.line != nil {
			co.settle(at)
		}
		co.clock.advance(at)
		co.offer(t.draw())
		if err := beat.beat(at - begin); err != nil {
			return err
		}
	}
	if co.line != nil {
		co.settle(end)
	}
	co.clock.advance(end)
	return beat.pass(p.Length)
}

// offer lets a client make a call, if its throttle admits it.
func (co *course) offer(o offer) {
	now := co.clock.at
	e := co.record.offer(o, now)
	token, admitted := co.clients[o.client].Admit(o.priority)
	if !admitted {
		return
	}
	e.admitted[o.priority]++
	switch {
	case co.line == nil:
		co.end(co.answer(o, e), token, o, now)
	case o.doomed || !co.line.join(waiting{token: token, offer: o, arrived: now}):
		e.wasted += co.line.reject(now)
		co.end(false, token, o, now)
	}
}

// answer lets a backend that does not queue deal with a call, and reports whether it has served it.
func (co *course) answer(o offer, e *entry) bool {
	now := co.clock.at
	if o.doomed || !co.budget.serve(now, o.priority) {
		e.wasted += co.budget.reject(now)
		return false
	}
	e.useful++
	return true
}

// end tells the client how a call that it offered at that time has ended.
func (co *course) end(served bool, token Token, o offer, offered time.Duration) {
	outcome := throttle.Rejected
	if served {
		outcome = throttle.Accepted
		co.record.success(o, offered)
	}
	co.clients[o.client].End(token, outcome)
}

// settle lets everything happen in the line that happens until then.
func (co *course) settle(until time.Duration) {
	for {
		at, served := co.line.next()
		if at > until {
			return
		}
		co.clock.advance(at)
		if !served {
			w := co.line.giveUp()
			co.end(false, w.token, w.offer, w.arrived)
			continue
		}
		w, useful := co.line.serve(at)
		if e := co.record.at(at); useful {
			e.useful++
			co.end(true, w.token, w.offer, w.arrived)
		} else {
			e.wasted++
		}
	}
}

// clock is the time of a case, which moves only when it is told to. Real, it moves the clock of the surrounding
// bubble, for policies that look at no other.
type clock struct {
	real  bool
	at    time.Duration // since the case began
	began time.Time
}

// newClock returns a clock at the beginning of a case.
func newClock(bubble bool) *clock {
	return &clock{real: bubble, began: time.Unix(0, 0)}
}

// now is the time as policies see it.
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
