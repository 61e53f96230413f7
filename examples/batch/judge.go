package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spillway-go/spillway/examples/internal/promise"
)

// find lets the backoff find the rate of an act.
func (s *story) find(ctx context.Context, t *table, name string, from, to float64) error {
	saved := s.saved(ctx)
	was, err := s.stay(ctx, t, s.settings.finding(from, to))
	s.row(row{name: name + ", finding", stretch: s.payable(ctx, was, saved), span: name, capacity: to * float64(s.settings.capacity)})
	return err
}

// settled notes what came of an act once the rate was found, and judges it.
func (s *story) settled(name string, to float64, was stretch) {
	s.row(row{name: name, stretch: was, span: name, capacity: to * float64(s.settings.capacity)})
	if was.took <= 0 {
		return
	}
	judge(&s.promises, name, was)
	s.out.Line("%.0f items a second, %.1f %% of the calls throttled; the delay is %s", was.perSecond(), 100*was.throttledShare(),
		span(s.backoff.Delay()))
}

// saved is what could be spent at once: what the bucket holds, and what those have had from it who stand in line for their turn.
func (s *story) saved(ctx context.Context) float64 {
	d, err := s.budget.Peek(ctx, "")
	if err != nil {
		return 0 // the job has ended
	}
	return float64(d.Remaining) + float64(s.backoff.Stats().Waiting)
}

// payable returns a stretch in which there were no more units than could be paid for, given what was saved before.
func (s *story) payable(ctx context.Context, was stretch, saved float64) stretch {
	if math.IsNaN(was.units) || math.IsInf(was.units, 0) {
		was.units = saved + float64(s.settings.budget().Refill)*was.took.Seconds() - s.saved(ctx)
	}
	return was
}

// judgeSpent judges whether the bucket has kept to what may be spent, with all calls that were made since it was full.
func (s *story) judgeSpent(was stretch) {
	limit := s.settings.budget()
	most := int(float64(limit.Capacity) + float64(limit.Refill)*was.took.Seconds())
	spent := was.written + was.throttled
	s.promises.Add(fmt.Sprintf("spent in %.1f s", was.took.Seconds()), fmt.Sprintf("at most %d", most), fmt.Sprint(spent), promise.Judge(spent <= most))
}
