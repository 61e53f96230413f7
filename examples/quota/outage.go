package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
	"github.com/spillway-go/spillway/examples/internal/promise"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// longestAvoidance is for how long a limiter leaves a store alone that did not answer, and asks it then, at most.
const longestAvoidance = time.Second + 100*time.Millisecond

// theStoreIsGone shows what the policy does, and that the store is asked again when it is back.
func (s *story) theStoreIsGone(ctx context.Context) error {
	s.out.Act("The store gives no answer")
	if s.store.db == nil {
		s.out.Line("not played with a Redis, which others may need; leave out -redis to see it")
		return nil
	}
	release, err := s.store.hold(ctx)
	if err != nil {
		return err
	}
	s.out.Line("somebody holds a lock on the file of SQLite; what holds now is %s", s.settings.policy)
	gone, err := s.stay(ctx, s.settings.part(partOfGone))
	before := s.fleet.answers()
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	s.out.Line("%.1f calls a second while the store was gone, of which the partner refused %d", gone.perSecond(), gone.calls.refused)
	s.row("the store is gone", gone)
	s.judgePolicy(gone)
	return s.theStoreIsBack(ctx, before)
}

// judgePolicy judges what was called without the store. What was granted before may have been on its way: one call of each worker.
func (s *story) judgePolicy(gone stretch) {
	onTheirWay := s.settings.processes * s.settings.workers
	made := gone.calls.made
	switch what := "calls without the store, by " + s.settings.policy.String(); s.settings.policy {
	case bucket.FailClosed:
		s.promises.Add(what, fmt.Sprintf("at most %d on their way", onTheirWay), fmt.Sprint(made), promise.Judge(made <= onTheirWay))
	case bucket.LocalShare:
		most := gone.most(int(s.settings.limit().Capacity), s.settings.quota) + onTheirWay
		s.promises.Add(what, fmt.Sprintf("at most %d", most), fmt.Sprint(made), promise.Judge(made <= most))
		s.judgeUse("of the quota used without the store", gone)
	default:
		most := gone.most(int(s.settings.limit().Capacity), s.settings.quota)
		s.promises.Add(what, fmt.Sprintf("more than %d", most), fmt.Sprint(made), promise.JudgeLeniently(made > most, true))
	}
}

// theStoreIsBack shows that all ask it again.
func (s *story) theStoreIsBack(ctx context.Context, before map[*handle]uint64) error {
	took, err := s.await(ctx, "all ask the store again", func() bool {
		for h, answers := range s.fleet.answers() {
			if answers <= before[h] {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	s.out.Line("the lock is gone, and %s later all ask the store again", narrator.Span(took))
	s.promises.Add("all ask the store again once it is back", "within "+narrator.Span(longestAvoidance), narrator.Span(took),
		promise.JudgeLeniently(took <= longestAvoidance, true))
	back, err := s.stay(ctx, s.settings.part(partOfBack))
	if err != nil {
		return err
	}
	s.row("the store is back", back)
	return nil
}
