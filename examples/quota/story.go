package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/promise"
)

// look is how often it is looked whether something has happened.
const look = 5 * time.Millisecond

// patience is for how long something is waited for that has been promised to happen soon.
const patience = 20 * time.Second

// What ends the story before its time.
var (
	errInterrupted = errors.New("interrupted")
	errBroken      = errors.New("a promise is broken")
)

// story is everything that happens, and what was measured of it.
type story struct {
	settings settings
	out      *narrator.Narrator
	stderr   io.Writer
	partner  *partner
	shared   place
	store    *sharedStore

	fleet    *fleet
	begun    time.Time // when nobody had asked the shared bucket yet
	started  int       // members that ever were
	rows     []row
	promises promise.Promises
}

func newStory(s settings, out, stderr io.Writer, p *partner, shared place, store *sharedStore) *story {
	return &story{
		settings: s, out: narrator.New(out), stderr: stderr, partner: p, shared: shared, store: store, fleet: &fleet{},
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
	err = errors.Join(err, s.fleet.stop())
	if err == nil {
		s.summarize()
	}
	return err
}

func (s *story) introduce() {
	l := s.settings.limit()
	where := "a file of SQLite"
	if s.settings.redis != "" {
		where = "Redis"
	}
	s.out.Printf("A partner allows %d calls a second. It is called by %s with %d workers each, which want more than that.\n",
		s.settings.quota, plural(s.settings.processes, "process", "processes"), s.settings.workers)
	s.out.Printf("The shared bucket lies in %s. It holds %d calls, and gets %d a second. While it cannot be asked: %s.\n",
		where, l.Capacity, l.Refill, s.settings.policy)
}

// play plays one act after the other.
func (s *story) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.eachForItself, s.together, s.oneIsKilled, s.theStoreIsGone} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts a member in a place.
func (s *story) start(ctx context.Context, in int, shared place) (*handle, error) {
	metrics, err := s.settings.metricsOf(in)
	if err != nil {
		return nil, err
	}
	s.started++
	o := orders{
		Name: fmt.Sprintf("p%d", s.started), Partner: s.partner.url, Workers: s.settings.workers, Limit: s.settings.limit(),
		Policy: s.settings.policy, Members: s.settings.processes, Store: shared, Metrics: metrics,
	}
	h, err := startMember(ctx, o, in, s.stderr)
	if err == nil {
		s.fleet.add(h)
	}
	return h, err
}

// startAll starts all members, and waits until each has called the partner. The partner has its whole reserve when they begin.
func (s *story) startAll(ctx context.Context, shared place) error {
	if err := s.fleet.stop(); err != nil {
		return err
	}
	s.fleet = &fleet{}
	if err := s.partner.forget(ctx); err != nil {
		return err
	}
	for in := range s.settings.processes {
		if _, err := s.start(ctx, in, shared); err != nil {
			return err
		}
	}
	for _, h := range s.fleet.members {
		if err := s.awaitCalls(ctx, h); err != nil {
			return err
		}
	}
	s.tellWhere()
	return nil
}

// awaitCalls waits until a member has called the partner, and has said where it can be seen.
func (s *story) awaitCalls(ctx context.Context, h *handle) error {
	_, err := s.await(ctx, "process "+h.name+" calls the partner", func() bool {
		return s.partner.of(h.name).made > 0 && (s.settings.metrics == "" || h.report().Metrics != "")
	})
	if r := h.report(); errors.Is(err, errBroken) && r.Silences > 0 {
		return fmt.Errorf("%w: its store was silent %s, last because: %s", err, plural(int(r.Silences), "time", "times"), r.Why)
	}
	return err
}

// tellWhere says where members can be seen.
func (s *story) tellWhere() {
	for _, h := range s.fleet.members {
		if url := h.report().Metrics; url != "" {
			s.out.Line("%s: metrics %s/metrics   bucket %s/debug/throttle", h.name, url, url)
		}
	}
}

// stay lets some time go by in which nothing has to happen but calls, and returns what there was of these.
func (s *story) stay(ctx context.Context, d time.Duration) (stretch, error) {
	m := s.mark()
	ended := time.Now().Add(d)
	for time.Now().Before(ended) {
		if err := s.fleet.check(); err != nil {
			return stretch{}, err
		}
		if !program.Rest(ctx, min(time.Until(ended), often)) {
			return s.since(m), errInterrupted
		}
	}
	return s.since(m), nil
}

// await waits until something has happened, and returns after how long. It is a broken promise if that takes too long by far.
func (s *story) await(ctx context.Context, what string, happened func() bool) (time.Duration, error) {
	begun := time.Now()
	for !happened() {
		if err := s.fleet.check(); err != nil {
			return 0, err
		}
		if !program.Rest(ctx, look) {
			return 0, errInterrupted
		}
		if waited := time.Since(begun); waited > patience {
			s.promises.Add(what, "soon", "not after "+narrator.Span(waited), promise.Broken)
			return 0, fmt.Errorf("%w: %s: not after %s", errBroken, what, narrator.Span(waited))
		}
	}
	return time.Since(begun), nil
}

// plural returns a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
