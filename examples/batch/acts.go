package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// withoutBackoff shows what happens if every worker tries again at once.
func (s *story) withoutBackoff(ctx context.Context) error {
	s.out.Act("Without a backoff")
	t := newTable(s.settings.capacity, 0, s.settings.seed)
	was, err := s.compare(ctx, t, partOfNone, func(ctx context.Context) bool {
		_ = t.write(ctx) // once more, if it was throttled
		return true
	})
	s.row(row{name: "without a backoff", stretch: was})
	if err == nil {
		s.out.Line("%.0f items a second, and %.0f calls a second that were throttled", was.perSecond(), float64(was.throttled)/was.took.Seconds())
	}
	return err
}

// withTheSleeper shows what AutoSleeper does if the workers share it.
func (s *story) withTheSleeper(ctx context.Context) error {
	s.out.Act("With AutoSleeper")
	t := newTable(s.settings.capacity, 0, s.settings.seed)
	shared := &sleeper{}
	was, err := s.compare(ctx, t, partOfSleeper, func(ctx context.Context) bool {
		if err := t.write(ctx); err != nil {
			return ctx.Err() == nil && shared.failed(ctx)
		}
		return shared.succeeded(ctx)
	})
	s.row(row{name: "AutoSleeper", stretch: was})
	if err == nil {
		s.out.Line("%d calls were throttled, most of them at once, and each made the delay longer: it is %s now", was.throttled,
			shared.delay().Round(time.Millisecond))
	}
	return err
}

// compare lets workers write in some way for a part of the story.
func (s *story) compare(ctx context.Context, t *table, part int, write func(context.Context) bool) (stretch, error) {
	w := start(ctx, s.settings.workers, write)
	defer w.end()
	return s.stay(ctx, t, s.settings.part(part))
}

// write writes an item, when what it costs may be spent and it is the caller's turn. The budget is asked first: whoever had to wait after his turn would make a
// call that tells the backoff nothing new.
func (s *story) write(ctx context.Context, t *table) error {
	if err := s.budget.Wait(ctx, "", 1); err != nil {
		return err
	}
	return s.backoff.Do(ctx, func(ctx context.Context) error {
		made := call{at: time.Now(), delay: s.backoff.Delay()}
		err := t.write(ctx)
		if ctx.Err() == nil && !s.settings.repeat { // of which there is no end
			made.throttled = err != nil
			s.tape.record(made)
		}
		return err
	})
}

// withTheBackoff shows what the backoff does while the table's capacity changes.
func (s *story) withTheBackoff(ctx context.Context) error {
	s.out.Act("With one backoff and one bucket for all workers")
	t := newTable(s.settings.capacity, s.settings.part(partOfSmall), s.settings.seed)
	s.begun = time.Now()
	first := t.mark()
	w := start(ctx, s.settings.workers, func(ctx context.Context) bool {
		err := s.write(ctx, t)
		return !errors.Is(err, bucket.ErrDenied) // which only says that the job ends before there is a token
	})
	defer w.end()
	for {
		err := s.playWith(ctx, t)
		if err == nil {
			s.judgeSpent(t.mark().since(first))
		}
		if !s.settings.repeat || errors.Is(err, errInterrupted) {
			return err
		}
		if err != nil {
			s.out.Line("%v", err)
		}
		s.summarize()
		s.rows, s.promises = nil, nil
		s.out.Act("Once more")
		t.reorder(float64(s.settings.capacity), s.settings.part(partOfSmall))
	}
}

// playWith plays the acts with a backoff, one after the other.
func (s *story) playWith(ctx context.Context, t *table) error {
	for _, act := range []func(context.Context, *table) error{s.ordered, s.grown, s.halved, s.onDemand} {
		if err := act(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// ordered is the table as it was ordered.
func (s *story) ordered(ctx context.Context, t *table) error {
	name := "as ordered"
	if err := s.find(ctx, t, name, small, small); err != nil {
		return err
	}
	was, err := s.untilGrown(ctx, t, 2*s.settings.part(partOfSmall))
	s.settled(name, small, was)
	return err
}

// grown is the table after it was used well for long enough.
func (s *story) grown(ctx context.Context, t *table) error {
	s.out.Line("the table was used well for long enough: its capacity is doubled to %d", growth*s.settings.capacity)
	return s.change(ctx, t, "doubled", partOfGrown, small, growth)
}

// halved is the table after somebody has found it too expensive.
func (s *story) halved(ctx context.Context, t *table) error {
	t.provision(float64(s.settings.capacity))
	s.out.Line("somebody finds that too expensive: its capacity is halved to %d", s.settings.capacity)
	return s.change(ctx, t, "halved", partOfHalved, small, small)
}

// onDemand is a table that bears anything, so that only the bucket holds.
func (s *story) onDemand(ctx context.Context, t *table) error {
	t.provision(math.Inf(1))
	s.out.Line("the table bears anything now: what holds is the account's %d units a second", s.settings.budget().Refill)
	return s.change(ctx, t, "on demand", partOfOnDemand, small, spending)
}

// change plays an act in which the capacity has changed from one to another, in multiples of the first.
func (s *story) change(ctx context.Context, t *table, name string, part int, from, to float64) error {
	if err := s.find(ctx, t, name, from, to); err != nil {
		return err
	}
	saved := s.saved(ctx)
	was, err := s.stay(ctx, t, s.settings.part(part)-s.settings.finding(from, to))
	s.settled(name, to, s.payable(ctx, was, saved))
	return err
}
