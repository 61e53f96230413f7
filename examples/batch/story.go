package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/promise"
	"github.com/spillway-go/spillway/examples/internal/watch"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// What ends the story before its time.
var (
	errInterrupted = errors.New("interrupted")
	errNotGrown    = errors.New("the table has not grown: the workers have not used it well enough")
)

// story is everything that happens, and what was measured of it.
type story struct {
	settings settings
	out      *narrator.Narrator
	backoff  *backoff.Responsive
	budget   *bucket.Limiter
	tape     *tape

	begun    time.Time // when the first call with the backoff could be made
	rows     []row
	promises promise.Promises
}

// newStory makes the backoff and the bucket, which show themselves from then on.
func newStory(s settings, out io.Writer, seen *watch.Server) (*story, error) {
	c := s.backoffConfig()
	c.Hooks = backoffHooks(seen)
	b, err := backoff.New(c)
	if err != nil {
		return nil, err
	}
	l, err := bucket.New(bucket.Config{Name: "account", Limit: s.budget(), Hooks: bucketHooks(seen)})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &story{settings: s, out: narrator.New(out), backoff: b, budget: l, tape: &tape{}}, nil
}

func (s *story) close() error { return errors.Join(s.backoff.Close(), s.budget.Close()) }

// tell plays all acts and sums up, also what there is when somebody has interrupted them.
func (s *story) tell(ctx context.Context, url string) {
	s.out.Printf("%d workers write to a table that bears %d units a second, and throttles what is more. An item takes one unit.\n",
		s.settings.workers, s.settings.capacity)
	s.out.Printf("The account may spend %d units a second.\n", s.settings.budget().Refill)
	if url != "" {
		s.out.Printf("metrics %s/metrics   backoff and bucket %s/debug/throttle\n", url, url)
	}
	if err := s.play(ctx); err != nil {
		s.out.Line("%v", err)
	}
	s.summarize()
}

// play plays one act after the other.
func (s *story) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.withoutBackoff, s.withTheSleeper, s.withTheBackoff} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stay lets some time go by at a table, and returns what there was in it.
func (s *story) stay(ctx context.Context, t *table, d time.Duration) (stretch, error) {
	m := t.mark()
	if !program.Rest(ctx, d) {
		return t.mark().since(m), errInterrupted
	}
	return t.mark().since(m), nil
}

// untilGrown waits for a table to grow, and returns what there was until then.
func (s *story) untilGrown(ctx context.Context, t *table, patience time.Duration) (stretch, error) {
	m := t.mark()
	select {
	case <-t.grown:
		return t.mark().since(m), nil
	case <-time.After(patience):
		s.promises.Add("the table grows", "within "+span(patience), "not yet", promise.Broken)
		return t.mark().since(m), errNotGrown
	case <-ctx.Done():
		return t.mark().since(m), errInterrupted
	}
}
