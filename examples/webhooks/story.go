package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/promise"
	"github.com/spillway-go/spillway/examples/webhooks/customer"
	"github.com/spillway-go/spillway/examples/webhooks/dispatch"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// How long the acts are in which nothing has to happen, in rounds of the leader.
const (
	roundsWithout  = 12
	roundsWell     = 8
	roundsDisabled = 8
	roundsBetween  = 5 // between two lines about the same
)

// look is how often it is looked whether something has happened.
const look = 5 * time.Millisecond

// What ends the story before its time.
var (
	errInterrupted = errors.New("interrupted")
	errBroken      = errors.New("a promise is broken")
)

// story is everything that happens, and what was measured of it.
type story struct {
	settings settings
	tempo    dispatch.Tempo
	out      *narrator.Narrator
	server   *customer.Server
	storage  *dispatch.Storage
	hooks    breaker.Hooks
	mailbox  *dispatch.Mailbox
	cast     *cast
	feed     *dispatch.Feed

	fleet    *dispatch.Fleet
	rows     []row
	promises promise.Promises
}

func newStory(s settings, out io.Writer, server *customer.Server, storage *dispatch.Storage, hooks breaker.Hooks) *story {
	dice := rand.New(rand.NewPCG(s.seed, 0))
	c := newCast(server.Endpoints(), s, dice)
	return &story{
		settings: s, tempo: s.tempo(), out: narrator.New(out), server: server, storage: storage, hooks: hooks,
		mailbox: dispatch.NewMailbox(), cast: c, feed: dispatch.NewFeed(float64(s.rate), c.busy, c.quiet, dice),
	}
}

// tell plays all acts and sums up, also what there is when somebody has interrupted them.
func (s *story) tell(ctx context.Context) error {
	s.introduce()
	err := s.play(ctx)
	switch {
	case ctx.Err() != nil:
		s.out.Line("interrupted")
		err = nil
	case errors.Is(err, errBroken):
		s.out.Line("%v", err)
		err = nil
	}
	if s.fleet != nil {
		_, stopped := s.fleet.Stop()
		err = errors.Join(err, stopped)
	}
	if err == nil {
		s.summarize()
	}
	return err
}

func (s *story) introduce() {
	t := s.tempo
	s.out.Printf("%d endpoints of %d tenants; %d agents with %d workers each; %d deliveries a second, at most %s for each attempt\n",
		s.settings.endpoints, tenants, s.settings.agents, s.settings.workersPerAgent(), s.settings.rate, narrator.Span(t.Timeout))
	s.out.Printf("%s\n", s.storage)
	s.out.Printf("The leader polls every %s. A circuit stays open for %s; trip %d in a row disables it.\n",
		narrator.Span(t.SampleRate), narrator.Span(t.BreakerTimeout), dispatch.Trips)
	s.out.Printf("Promised: a dead endpoint is disabled within 1.1 x %d x (%s + %s) = %s\n",
		dispatch.Trips, narrator.Span(t.BreakerTimeout), narrator.Span(t.SampleRate), narrator.Span(t.Promise()))
}

// play plays one act after the other.
func (s *story) play(ctx context.Context) error {
	acts := []func(context.Context) error{
		s.withoutBreaker, s.allWell, s.someDie, s.someComeBack, s.theRestIsDisabled, s.quietAtLast, s.someAreEnabled, s.theLeaderDies,
	}
	err := playAll(ctx, acts)
	for s.settings.repeat && (err == nil || errors.Is(err, errBroken)) {
		if err != nil {
			s.out.Line("%v", err)
		}
		if err = s.anew(ctx); err == nil {
			err = playAll(ctx, acts[2:])
		}
	}
	return err
}

// playAll plays acts until something is in the way of one.
func playAll(ctx context.Context, acts []func(context.Context) error) error {
	for _, act := range acts {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts a fleet.
func (s *story) start(guarded bool) (err error) {
	s.fleet, err = dispatch.Start(dispatch.Config{
		Agents: s.settings.agents, Workers: s.settings.workersPerAgent(), Guarded: guarded, Tempo: s.tempo,
		Customers: s.server, Storage: s.storage, Hooks: s.hooks, Mailbox: s.mailbox,
	}, s.feed)
	return err
}

// measure adds a row to the summary, with what was measured since the last one.
func (s *story) measure(name string) dispatch.Figures {
	figures := s.fleet.Read()
	s.rows = append(s.rows, row{name, figures})
	return figures
}

// patience is how long something may take that was promised to take so long, before it is clear that it will never happen.
func patience(promised time.Duration) time.Duration { return 4*promised + 20*time.Second }

// rest lets some rounds go by.
func (s *story) rest(ctx context.Context, rounds int) error {
	if !program.Rest(ctx, time.Duration(rounds)*s.tempo.SampleRate) {
		return errInterrupted
	}
	return nil
}

// await waits until something has happened. It is a broken promise if that takes too long by far.
func (s *story) await(ctx context.Context, what string, promised time.Duration, happened func() bool) error {
	begun, told := time.Now(), time.Now()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for !happened() {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return errInterrupted
		}
		if time.Since(told) >= roundsBetween*s.tempo.SampleRate {
			told = time.Now()
			s.progress()
		}
		if waited := time.Since(begun); waited > patience(promised) {
			s.promises.Add(what, "within "+narrator.Span(promised), "not after "+narrator.Span(waited), promise.Broken)
			return fmt.Errorf("%w: %s: not after %s", errBroken, what, narrator.Span(waited))
		}
	}
	return nil
}

// progress tells what the circuits are in, as one of the agents sees them.
func (s *story) progress() {
	stats := s.fleet.Agents()[0].Manager.Stats()
	s.out.Line("circuits: %d open, %d half-open, %d disabled; %d deliveries wait for a worker", stats.Circuits[breaker.Open],
		stats.Circuits[breaker.HalfOpen], stats.Circuits[breaker.Disabled], s.fleet.Backlog())
}

// all reports whether something holds for every endpoint. It looks at every one, whatever the others are.
func all(endpoints []*customer.Endpoint, holds func(*customer.Endpoint) bool) bool {
	good := true
	for _, e := range endpoints {
		good = holds(e) && good
	}
	return good
}
