package main

import (
	"context"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// anew sums up, and makes everything as it was before anybody died: endpoints are mended and enabled, and another agent comes for the one that was
// killed. The fleet goes on, and so do its breakers.
func (s *story) anew(ctx context.Context) error {
	s.summarize()
	s.out.Act("Once more")
	heal(s.server.Endpoints())
	if len(s.fleet.Agents()) < s.settings.agents {
		if err := s.fleet.Join(); err != nil {
			return err
		}
	}
	if err := s.forgive(ctx); err != nil {
		return err
	}
	closed := func() bool {
		return all(s.server.Endpoints(), func(e *customer.Endpoint) bool { return !e.Doomed || s.fleet.AllSee(e, breaker.Closed) })
	}
	if err := s.await(ctx, "all are well again", s.tempo.Promise(), closed); err != nil {
		return err
	}
	for _, e := range s.server.Endpoints() {
		s.fleet.Release(e)
	}
	s.fleet.Journal.Forget()
	s.mailbox.Forget()
	s.rows, s.promises = s.rows[:1], nil // the first is without a breaker
	s.out.Line("all are well again; %d agents work", len(s.fleet.Agents()))
	return s.rest(ctx, roundsWell)
}

// forgive enables who was ill, and who is disabled because the machine was busy. Without it circuits that closed by themselves would
// remember their trips, and be disabled too early.
func (s *story) forgive(ctx context.Context) error {
	seen := s.fleet.Agents()[0].Manager
	for _, e := range s.server.Endpoints() {
		if !e.Doomed && seen.Status(e.Key).State != breaker.Disabled {
			continue
		}
		if err := s.enable(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
