package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/internal/promise"
	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/examples/webhooks/dispatch"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// withoutBreaker shows why there are breakers.
func (s *story) withoutBreaker(ctx context.Context) error {
	s.out.Act("Without a breaker")
	if err := s.start(false); err != nil {
		return err
	}
	if err := s.rest(ctx, 1); err != nil {
		return err
	}
	_ = s.fleet.Read() // the first connections of all
	kill(s.cast.dead)
	s.out.Line("%d endpoints die: %s", len(s.cast.dead), illnesses(s.cast.dead))
	if err := s.rest(ctx, roundsWithout); err != nil {
		return err
	}
	s.out.Line("%d deliveries wait for a worker", s.fleet.Backlog())
	figures, err := s.fleet.Stop()
	s.fleet = nil
	if err != nil {
		return err
	}
	heal(s.cast.dead)
	s.rows = append(s.rows, row{"no breaker, some dead", figures})
	s.out.Line("the others waited %s for a worker, every hundredth more than %s; everything begins anew",
		narrator.Span(dispatch.Quantile(figures.Waited, 0.5)), narrator.Span(dispatch.Quantile(figures.Waited, 0.99)))
	return s.storage.Clear(ctx)
}

// illnesses says how endpoints are ill.
func illnesses(endpoints []*customer.Endpoint) string {
	var n [customer.Flaky + 1]int
	for _, e := range endpoints {
		n[e.Health()]++
	}
	return fmt.Sprintf("%d time out, %d refuse connections, %d answer 500, %d fail 80 to 95 times of 100",
		n[customer.Hanging], n[customer.Refusing], n[customer.Failing], n[customer.Flaky])
}

// allWell starts the agents with breakers.
func (s *story) allWell(ctx context.Context) error {
	s.out.Act("With a breaker")
	if err := s.start(true); err != nil {
		return err
	}
	leader, err := s.leader(ctx, "one agent leads")
	if err != nil {
		return err
	}
	s.out.Line("all are well; %s leads", leader.Name)
	_ = s.fleet.Read()
	if err := s.rest(ctx, roundsWell); err != nil {
		return err
	}
	s.measure("all well")
	return nil
}

// someDie waits until the agents stop calling who is dead, for now.
func (s *story) someDie(ctx context.Context) error {
	killed := time.Now()
	kill(s.cast.dead)
	s.out.Line("the same %d endpoints die", len(s.cast.dead))
	isRevived := members(s.cast.revived)
	open := func(e *customer.Endpoint) bool {
		_, ok := s.fleet.Journal.First(e.Key, breaker.Open, killed)
		if ok && isRevived[e] {
			e.Set(customer.Well) // before it can be disabled
		}
		return ok
	}
	if err := s.await(ctx, "circuits of dead endpoints open", s.tempo.Promise(), func() bool { return all(s.cast.dead, open) }); err != nil {
		return err
	}
	times := s.since(s.cast.dead, breaker.Open)
	s.out.Line("all %d circuits have opened, after %s, the last one after %s", len(times), narrator.Span(dispatch.Quantile(times, 0.5)), narrator.Span(slices.Max(times)))
	s.measure("until all were open")
	return nil
}

// since returns how long after their death circuits changed to a state first.
func (s *story) since(endpoints []*customer.Endpoint, to breaker.State) []time.Duration {
	var times []time.Duration
	for _, e := range endpoints {
		if at, ok := s.fleet.Journal.First(e.Key, to, e.DiedAt()); ok {
			times = append(times, at.Sub(e.DiedAt()))
		}
	}
	return times
}

// someComeBack waits until probes have found out who answers again.
func (s *story) someComeBack(ctx context.Context) error {
	s.out.Line("%d of them answer again since then, but nobody asks them yet", len(s.cast.revived))
	closed := func(e *customer.Endpoint) bool { return s.fleet.AllSee(e, breaker.Closed) }
	if err := s.await(ctx, "circuits of endpoints that answer close", s.tempo.Promise(), func() bool { return all(s.cast.revived, closed) }); err != nil {
		return err
	}
	s.out.Line("probes have found out: all agents see these circuits closed")
	s.promises.Add("circuits closed by probes", fmt.Sprint(len(s.cast.revived)), fmt.Sprint(len(s.cast.revived)), promise.Kept)
	return nil
}

// theRestIsDisabled waits for the promise of all promises.
func (s *story) theRestIsDisabled(ctx context.Context) error {
	lasting := s.cast.lasting()
	disabled := func(e *customer.Endpoint) bool { return s.fleet.AllSee(e, breaker.Disabled) }
	if err := s.await(ctx, "dead endpoints are disabled", s.tempo.Promise(), func() bool { return all(lasting, disabled) }); err != nil {
		return err
	}
	times := s.since(lasting, breaker.Disabled)
	s.out.Line("all %d that are still dead are disabled, %s after they died, the last one after %s", len(times),
		narrator.Span(dispatch.Quantile(times, 0.5)), narrator.Span(slices.Max(times)))
	s.promises.Timed("dead endpoints disabled", s.tempo.Promise(), slices.Max(times))
	notified := func(e *customer.Endpoint) bool { return s.mailbox.Letters(e.Key) > 0 }
	if err := s.await(ctx, "customers are notified", s.tempo.Takeover(), func() bool { return all(lasting, notified) }); err != nil {
		return err
	}
	s.out.Line("all %d customers are notified; %d letters came twice, and were known by their ID", len(lasting), s.mailbox.Again())
	return nil
}

// quietAtLast counts what still goes to endpoints that are disabled.
func (s *story) quietAtLast(ctx context.Context) error {
	if err := s.rest(ctx, 1); err != nil { // attempts that were under way
		return err
	}
	s.measure("until all were disabled")
	before := attempts(s.cast.lasting())
	if err := s.rest(ctx, roundsDisabled); err != nil {
		return err
	}
	wasted := attempts(s.cast.lasting()) - before
	figures := s.measure("disabled")
	s.out.Line("%d attempts at them since; %d deliveries for them are on hold; the others wait %s for a worker, every hundredth more than %s", wasted,
		s.fleet.OnHold(), narrator.Span(dispatch.Quantile(figures.Waited, 0.5)), narrator.Span(dispatch.Quantile(figures.Waited, 0.99)))
	s.promises.Add("attempts at disabled endpoints", "0", fmt.Sprint(wasted), promise.Judge(wasted == 0))
	return nil
}

// attempts returns how many attempts there were at endpoints so far.
func attempts(endpoints []*customer.Endpoint) (sum uint64) {
	for _, e := range endpoints {
		made, _, _ := e.Attempts()
		sum += made
	}
	return sum
}

// someAreEnabled lets customers mend their endpoints, and somebody press the button.
func (s *story) someAreEnabled(ctx context.Context) error {
	heal(s.cast.fixed)
	s.out.Line("%d customers have mended their endpoints; somebody enables these", len(s.cast.fixed))
	accepted := map[*customer.Endpoint]uint64{}
	for _, e := range s.cast.fixed {
		_, accepted[e], _ = e.Attempts()
		if err := s.enable(ctx, e); err != nil {
			return err
		}
	}
	released := 0
	back := func() bool {
		return all(s.cast.fixed, func(e *customer.Endpoint) bool {
			closed := s.fleet.AllSee(e, breaker.Closed)
			if closed {
				released += s.fleet.Release(e)
			}
			_, now, _ := e.Attempts()
			return closed && now > accepted[e]
		})
	}
	if err := s.await(ctx, "enabled endpoints get deliveries", s.tempo.Takeover(), back); err != nil {
		return err
	}
	s.out.Line("all of them get deliveries again, and %d that were on hold", released)
	s.promises.Add("enabled by hand and called again", fmt.Sprint(len(s.cast.fixed)), fmt.Sprint(len(s.cast.fixed)), promise.Kept)
	s.measure("some enabled again")
	return nil
}

// enable enables an endpoint by hand, through any agent. A store that is busy is asked again.
func (s *story) enable(ctx context.Context, e *customer.Endpoint) error {
	var err error
	waited := s.await(ctx, "an endpoint is enabled", s.tempo.Takeover(), func() bool {
		err = s.fleet.Agents()[0].Manager.Enable(ctx, e.Key)
		return err == nil
	})
	if waited != nil && err != nil && !errors.Is(waited, errInterrupted) {
		return errors.Join(waited, err)
	}
	return waited
}

// leader waits for an agent that leads.
func (s *story) leader(ctx context.Context, what string) (leader *dispatch.Agent, err error) {
	err = s.await(ctx, what, s.tempo.Takeover(), func() bool { leader = s.fleet.Leader(); return leader != nil })
	return leader, err
}

// theLeaderDies shows that it is missed by nobody.
func (s *story) theLeaderDies(ctx context.Context) error {
	leader, err := s.leader(ctx, "one agent leads")
	if err != nil {
		return err
	}
	killed := time.Now()
	if err := s.fleet.Kill(leader); err != nil {
		return err
	}
	s.out.Line("%s, which leads, is killed", leader.Name)
	next, err := s.leader(ctx, "another agent leads")
	if err != nil {
		return err
	}
	took := max(0, s.fleet.Journal.LedSince(next.Manager).Sub(killed)) // it may have led before, of a sudden
	s.out.Line("%s leads, %s later", next.Name, narrator.Span(took))
	s.promises.Timed("another leads after the leader's death", s.tempo.Takeover(), took)
	return s.theNextLeads(ctx)
}

// theNextLeads shows that the new leader knows what the old one knew, and does its work.
func (s *story) theNextLeads(ctx context.Context) error {
	killed := time.Now()
	kill(s.cast.late)
	s.out.Line("%d more endpoints die", len(s.cast.late))
	open := func(e *customer.Endpoint) bool {
		_, ok := s.fleet.Journal.First(e.Key, breaker.Open, killed)
		return ok
	}
	if err := s.await(ctx, "circuits open under the new leader", s.tempo.Promise(), func() bool { return all(s.cast.late, open) }); err != nil {
		return err
	}
	times := s.since(s.cast.late, breaker.Open)
	s.out.Line("their circuits have opened, the last one after %s", narrator.Span(slices.Max(times)))
	still := 0
	for _, e := range s.cast.lost {
		if s.fleet.AllSee(e, breaker.Disabled) {
			still++
		}
	}
	s.promises.Add("still disabled under another leader", fmt.Sprint(len(s.cast.lost)), fmt.Sprint(still), promise.Judge(still == len(s.cast.lost)))
	s.measure("leader killed, more die")
	s.judge()
	return nil
}

// judge compares who was disabled with who should have been, before the next trips of the late ones.
func (s *story) judge() {
	expected, late := members(s.cast.lasting()), members(s.cast.late)
	found, unjust, unlucky := 0, 0, 0
	ever := s.fleet.Journal.Ever(breaker.Disabled)
	for _, e := range s.server.Endpoints() {
		_, _, failed := e.Attempts()
		switch {
		case !ever[e.Key], late[e]:
		case expected[e]:
			found++
		case failed < dispatch.Trips:
			unjust++ // nothing but the breaker can have been wrong
		default:
			unlucky++ // too slow for the timeouts, on a machine that is busy
		}
	}
	s.promises.Add("endpoints disabled, of those that stayed dead", fmt.Sprint(len(expected)), fmt.Sprint(found), promise.Judge(found == len(expected)))
	measured := fmt.Sprint(unjust)
	if unlucky > 0 {
		measured += fmt.Sprintf(", and %d whose attempts did fail", unlucky)
	}
	s.promises.Add("endpoints disabled that were well", "0", measured, promise.Judge(unjust == 0))
	once := 0
	for e := range expected {
		if s.mailbox.Letters(e.Key) == 1 {
			once++
		}
	}
	s.promises.Add("customers of these notified, each once", fmt.Sprint(len(expected)), fmt.Sprint(once), promise.Judge(once == len(expected)))
}
