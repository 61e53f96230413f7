package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/examples/internal/promise"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// How much of what is there must be used to say that it is used.
const used = 0.95

// eachForItself shows why a bucket must be shared.
func (s *story) eachForItself(ctx context.Context) error {
	s.out.Act("Each process for itself")
	if err := s.startAll(ctx, place{}); err != nil {
		return err
	}
	s.out.Line("each process has a bucket of its own, with the whole quota")
	// The partner's reserve of a second's calls is used up soon, by those that are too many.
	if _, err := s.stay(ctx, s.settings.part(partOfAlone)/3); err != nil {
		return err
	}
	was, err := s.stay(ctx, s.settings.part(partOfAlone)*2/3)
	if err != nil {
		return err
	}
	s.out.Line("%.0f calls a second, of which the partner refuses %.0f %%", was.perSecond(), 100*was.refused())
	s.row("each for itself", was)
	return nil
}

// together shows what a shared bucket does.
func (s *story) together(ctx context.Context) error {
	s.out.Act("One bucket for all")
	if err := s.fleet.stop(); err != nil {
		return err
	}
	s.begun = time.Now()
	if err := s.startAll(ctx, s.shared); err != nil {
		return err
	}
	s.out.Line("the processes share one bucket")
	was, err := s.stay(ctx, s.settings.part(partOfShared))
	if err != nil {
		return err
	}
	s.out.Line("%.1f calls a second, of which the partner refuses %d; %s", was.perSecond(), was.calls.refused, s.byMember())
	s.row("one bucket for all", was)
	s.judgeUse("of the quota used", was)
	return nil
}

// byMember says how many calls each member has made.
func (s *story) byMember() string {
	text := ""
	for i, name := range s.fleet.names() {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s made %d", name, s.partner.of(name).made)
	}
	return text
}

// judgeUse judges whether nothing of the quota was left over.
func (s *story) judgeUse(what string, was stretch) {
	got := was.ofQuota(s.settings.quota)
	s.promises.Add(what, fmt.Sprintf("at least %.0f %%", 100*used), fmt.Sprintf("%.1f %%", 100*got), promise.JudgeLeniently(got >= used, true))
}

// oneIsKilled shows that others take up what a dead process leaves, and that a new one finds its place.
func (s *story) oneIsKilled(ctx context.Context) error {
	s.out.Act("A process is killed")
	if len(s.fleet.members) == 1 {
		s.out.Line("there is only one: nobody could take up its part")
		return s.judgeShared(ctx)
	}
	dead, err := s.fleet.kill()
	if err != nil {
		return err
	}
	before := s.partner.of(dead.name).made
	s.out.Line("%s is killed, which has made %d calls", dead.name, before)
	next, err := s.stay(ctx, time.Second)
	if err != nil {
		return err
	}
	s.out.Line("in the second after, the others make %d calls", next.calls.made)
	s.judgeUse("of the quota used in the second after a death", next)
	was, err := s.stay(ctx, s.settings.part(partOfDead))
	if err != nil {
		return err
	}
	s.row("one is dead", was)
	replaced, err := s.start(ctx, dead.place, s.shared)
	if err != nil {
		return err
	}
	if err := s.awaitCalls(ctx, replaced); err != nil {
		return err
	}
	s.out.Line("%s takes its place", replaced.name)
	return s.judgeShared(ctx)
}

// judgeShared judges all that was called with the shared bucket so far. If the store was too slow for a member, its policy decided as well. If a
// call was under way for too long, calls of different times came together.
func (s *story) judgeShared(ctx context.Context) error {
	was := stretch{calls: s.partner.of(s.fleet.everybody()...), took: time.Since(s.begun)}
	if err := s.awaitReports(ctx); err != nil {
		return err
	}
	silences := s.fleet.silences()
	most := was.most(int(s.settings.limit().Capacity), s.settings.quota)
	measured := fmt.Sprint(was.calls.made)
	if silences > 0 {
		measured += fmt.Sprintf(", the store was late %s", plural(int(silences), "time", "times"))
	}
	s.promises.Add(fmt.Sprintf("calls within %.1f s with one bucket", was.took.Seconds()), fmt.Sprintf("at most %d", most), measured,
		promise.JudgeLeniently(was.calls.made <= most, silences > 0 && s.mayBe(was.calls.made, most)))
	late := s.fleet.slowest() > s.settings.patienceOfPartner()/2
	s.promises.Add("of these refused by the partner", "0", fmt.Sprint(was.calls.refused),
		promise.JudgeLeniently(was.calls.refused == 0, late || silences > 0 && s.settings.policy != bucket.FailClosed))
	return nil
}

// awaitReports waits until all members have told what there was to tell until now: not in the next report, which may be on its way.
func (s *story) awaitReports(ctx context.Context) error {
	before := s.fleet.heard()
	_, err := s.await(ctx, "all processes report", func() bool {
		for h, n := range s.fleet.heard() {
			if n < before[h]+2 {
				return false
			}
		}
		return true
	})
	return err
}

// mayBe reports whether the policy can have let so many calls through beside those that the store granted.
func (s *story) mayBe(made, most int) bool {
	switch s.settings.policy {
	case bucket.FailClosed:
		return false
	case bucket.LocalShare:
		return made <= 2*most
	}
	return true
}
