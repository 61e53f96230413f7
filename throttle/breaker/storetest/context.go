package storetest

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func contextCases() []testCase {
	return []testCase{
		{"canceled before", func(r *rig) { r.endedContext(kit.Canceled(r.Context())) }},
		{"past its deadline", func(r *rig) { r.endedContext(kit.Overdue(r.Context())) }},
		{"canceled meanwhile", canceledMeanwhile},
	}
}

type method = kit.Method[store.Store]

// methods are all that take a context and return soon.
func methods(q store.ProbeRequest) []method {
	return []method{
		{Name: "Campaign", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Campaign(ctx, store.Candidate{Owner: "late", TTL: long})
			return err
		}},
		{Name: "Resign", Call: func(ctx context.Context, s store.Store) error {
			return s.Resign(ctx, store.Lease{Owner: "nobody", Term: 1})
		}},
		{Name: "Versions", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Versions(ctx)
			return err
		}},
		{Name: "Load", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Load(ctx, []int{0, 1})
			return err
		}},
		{Name: "Apply", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Apply(ctx, batch(1, 99, store.Version{}, "late"))
			if errors.Is(err, store.ErrConflict) {
				return nil // the shard was written before
			}
			return err
		}},
		{Name: "Probe", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Probe(ctx, []store.ProbeRequest{q})
			return err
		}},
	}
}

// endedContext calls all methods with a context that is over. Each must say so, and must not have written.
func (r *rig) endedContext(ctx context.Context) {
	r.Helper()
	q := r.halfOpen(1)
	q.Want = q.Budget
	for _, m := range methods(q) {
		r.RejectsEnded(ctx, m)
	}
	if l := r.campaign(r.Store, "alive", long); l.Owner != "alive" {
		r.Errorf("Campaign after one whose context was over: got owner %q, want %q: that must have changed nothing", l.Owner, "alive")
	}
	r.expectVersion(r.Store, 1, store.Version{})
	r.expectRecords(r.shard(r.Store, 1), nil)
	if _, err := r.tryApply(r.Store, batch(1, 98, store.Version{}, "alive")); err != nil {
		r.Errorf("Apply with term 98 after one with term 99 whose context was over: got error %v, want none: that must have left no term", err)
	}
	r.take("Probe after one whose context was over", r.Store, q, q.Budget)
}

// canceledMeanwhile cancels calls while they are under way. What is acknowledged must be stored, what is not may be, and the
// store must go on working: no answer may be taken for that to another question.
func canceledMeanwhile(r *rig) {
	const shard, attempts = 53, 150
	var acknowledged, unknown int
	r.CancelDuring(attempts, 10*time.Microsecond, func(ctx context.Context, i int) {
		v := r.shard(r.Store, shard).Version
		err := r.Returns(ctx, r.Store, method{Name: "Apply", Call: func(ctx context.Context, s store.Store) error {
			_, err := s.Apply(ctx, batch(shard, 0, v, strconv.Itoa(i)))
			return err
		}})
		r.loadCanceled(ctx, shard)
		switch {
		case err == nil:
			acknowledged++
		case errors.Is(err, store.ErrConflict) && unknown == 0, errors.Is(err, store.ErrFenced):
			r.Fatalf("Apply by the only writer, whose context was canceled meanwhile: got error %v, want none or that of the context", err)
		default:
			unknown++
		}
	})
	got := int(r.shard(r.Handle(), shard).Version.Number)
	if got < acknowledged || got > acknowledged+unknown {
		r.Errorf("%d writes were acknowledged and %d canceled: got version number %d, want %d to %d",
			acknowledged, unknown, got, acknowledged, acknowledged+unknown)
	}
	r.until("a canceled write is still under way", func() bool { // which may end between the look at the shard and the next write
		_, err := r.tryApply(r.Store, store.Batch{
			Shard: shard, Expect: r.shard(r.Store, shard).Version, Changes: []store.Change{put(shard, 1, "still works")},
		})
		if !errors.Is(err, store.ErrConflict) {
			r.Must(err, "Apply after others were canceled")
		}
		return err == nil
	})
}

// loadCanceled reads two shards with a context that may end meanwhile. If there is an answer, it must be the right one.
func (r *rig) loadCanceled(ctx context.Context, shard int) {
	r.Helper()
	err := r.Returns(ctx, r.Store, method{Name: "Load", Call: func(ctx context.Context, s store.Store) error {
		loaded, err := s.Load(ctx, []int{shard, shard + 1})
		if err != nil {
			return nil
		}
		_, err = byIndex([]int{shard, shard + 1}, loaded)
		return err
	}})
	r.Must(err, "Load, whose context was canceled meanwhile")
}
