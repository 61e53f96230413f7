package storetest

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func contextCases() []testCase {
	return []testCase{
		{"canceled before", func(r *rig) { r.endedContext(canceled(r.Context())) }},
		{"past its deadline", func(r *rig) { r.endedContext(overdue(r.Context())) }},
		{"canceled meanwhile", canceledMeanwhile},
	}
}

func canceled(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	cancel()
	return ctx
}

func overdue(parent context.Context) context.Context {
	ctx, cancel := context.WithDeadline(parent, time.Now().Add(-time.Second))
	cancel()
	return ctx
}

// method is a call of one of the store's methods.
type method struct {
	name string
	call func(context.Context, store.Store) error
}

// methods are all that take a context and return soon.
func methods(q store.ProbeRequest) []method {
	return []method{
		{"Campaign", func(ctx context.Context, s store.Store) error {
			_, err := s.Campaign(ctx, store.Candidate{Owner: "late", TTL: long})
			return err
		}},
		{"Resign", func(ctx context.Context, s store.Store) error {
			return s.Resign(ctx, store.Lease{Owner: "nobody", Term: 1})
		}},
		{"Versions", func(ctx context.Context, s store.Store) error {
			_, err := s.Versions(ctx)
			return err
		}},
		{"Load", func(ctx context.Context, s store.Store) error {
			_, err := s.Load(ctx, []int{0, 1})
			return err
		}},
		{"Apply", func(ctx context.Context, s store.Store) error {
			_, err := s.Apply(ctx, batch(1, 99, store.Version{}, "late"))
			return err
		}},
		{"Probe", func(ctx context.Context, s store.Store) error {
			_, err := s.Probe(ctx, []store.ProbeRequest{q})
			return err
		}},
	}
}

// returns wants f to return at all.
func (r *rig) returns(what string, f func() error) error {
	r.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		r.Fatalf("%s has not returned for %v: every method must return when its context ends", what, patience)
		return nil
	}
}

// endedContext calls all methods with a context that is over. Each must say so, and must not have written.
func (r *rig) endedContext(ctx context.Context) {
	r.Helper()
	q := r.halfOpen(1)
	q.Want = q.Budget
	for _, m := range methods(q) {
		if err := r.returns(m.name, func() error { return m.call(ctx, r.store) }); err == nil {
			r.Errorf("%s with a context that is over (%v): got no error, want one", m.name, ctx.Err())
		}
	}
	if l := r.campaign(r.store, "alive", long); l.Owner != "alive" {
		r.Errorf("Campaign after one whose context was over: got owner %q, want %q: that must have changed nothing", l.Owner, "alive")
	}
	r.expectVersion(r.store, 1, store.Version{})
	r.expectRecords(r.shard(r.store, 1), nil)
	if _, err := r.tryApply(r.store, batch(1, 98, store.Version{}, "alive")); err != nil {
		r.Errorf("Apply with term 98 after one with term 99 whose context was over: got error %v, want none: that must have left no term", err)
	}
	r.take("Probe after one whose context was over", r.store, q, q.Budget)
}

// canceledMeanwhile cancels calls while they are under way. What is acknowledged must be stored, what is not may be, and the
// store must go on working: no answer may be taken for that to another question.
func canceledMeanwhile(r *rig) {
	const shard, attempts = 53, 150
	var acknowledged, unknown int
	begin := time.Now()
	for i := range attempts {
		if took := time.Since(begin); took > patience {
			r.Fatalf("%d writes, each canceled within 2 ms, took %v: does a call go on when its context ends, or leave a lock behind?", i, took)
		}
		v := r.shard(r.store, shard).Version
		ctx, cancel := context.WithCancel(r.Context())
		timer := time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
		err := r.returns("Apply", func() error {
			_, err := r.store.Apply(ctx, batch(shard, 0, v, strconv.Itoa(i)))
			return err
		})
		r.loadCanceled(ctx, shard)
		timer.Stop()
		cancel()
		switch {
		case err == nil:
			acknowledged++
		case errors.Is(err, store.ErrConflict) && unknown == 0, errors.Is(err, store.ErrFenced):
			r.Fatalf("Apply by the only writer, whose context was canceled meanwhile: got error %v, want none or that of the context", err)
		default:
			unknown++
		}
	}
	got := int(r.shard(r.handle(), shard).Version.Number)
	if got < acknowledged || got > acknowledged+unknown {
		r.Errorf("%d writes were acknowledged and %d canceled: got version number %d, want %d to %d",
			acknowledged, unknown, got, acknowledged, acknowledged+unknown)
	}
	r.until("a canceled write is still under way", func() bool { // which may end between the look at the shard and the next write
		_, err := r.tryApply(r.store, store.Batch{
			Shard: shard, Expect: r.shard(r.store, shard).Version, Changes: []store.Change{put(shard, 1, "still works")},
		})
		if !errors.Is(err, store.ErrConflict) {
			r.must(err, "Apply after others were canceled")
		}
		return err == nil
	})
}

// loadCanceled reads two shards with a context that may end meanwhile. If there is an answer, it must be the right one.
func (r *rig) loadCanceled(ctx context.Context, shard int) {
	r.Helper()
	err := r.returns("Load", func() error {
		loaded, err := r.store.Load(ctx, []int{shard, shard + 1})
		if err != nil {
			return nil
		}
		_, err = byIndex([]int{shard, shard + 1}, loaded)
		return err
	})
	r.must(err, "Load, whose context was canceled meanwhile")
}
