package otelthrottle_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoffAudit counts series from the outcomes of callers, and from the events of hooks.
type backoffAudit struct{ audit }

func (a *backoffAudit) hooks() backoff.Hooks {
	return backoff.Hooks{
		Stepped: func(e backoff.StepEvent) {
			direction := semconv.DirectionDown
			if e.Up() {
				direction = semconv.DirectionUp
			}
			a.count(semconv.MetricBackoffSteps, "throttle.backoff.name", e.Responsive.Name(), "throttle.backoff.direction", direction)
		},
		Slept: func(_ context.Context, e backoff.SleepEvent) {
			a.count(semconv.MetricBackoffSleepDuration, "throttle.backoff.name", e.Responsive.Name())
		},
	}
}

// ended counts a call.
func (a *backoffAudit) ended(r *backoff.Responsive, o backoff.Outcome) {
	a.count(semconv.MetricBackoffCalls, "throttle.backoff.name", r.Name(), "throttle.backoff.outcome", o.String())
}

// randomCall makes a call that ends in some way, or none because its context ends first. It also
// reports one as the documentation does: in a context that does not end, because a call whose
// context has ended is not counted.
func (a *backoffAudit) randomCall(r *backoff.Responsive, dice *rand.Rand) {
	switch dice.IntN(8) {
	case 0:
		a.ended(r, backoff.Throttled)
		_ = r.SleepOnFailure(context.Background())
		return
	case 1:
		a.ended(r, backoff.Success)
		_ = r.SleepOnSuccess(context.Background())
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.IntN(20))*time.Millisecond)
	defer cancel()
	p, err := r.Wait(ctx)
	if err != nil {
		return
	}
	outcomes := []backoff.Outcome{
		backoff.Success, backoff.Success, backoff.Success, backoff.Success, backoff.Ignored, backoff.Throttled, backoff.ThrottledFor(time.Millisecond),
	}
	o := outcomes[dice.IntN(len(outcomes))]
	p.Finish(o)
	p.Finish(o) // which does not count
	a.ended(r, o)
}

// settled leaves out what is not counted in whole calls, steps and sleeps.
func (s snapshot) settled() snapshot {
	return s.of(semconv.MetricBackoffSteps, semconv.MetricBackoffCalls, semconv.MetricBackoffSleepDuration).positive()
}

// TestPulledTotalsOfBackoffsAreTheCalls makes calls through backoffs of two names and both modes, while collections run, and then compares every
// series.
func TestPulledTotalsOfBackoffsAreTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, a := newLab(t, setup{}), &backoffAudit{audit{series: snapshot{}}}
		var all []*backoff.Responsive
		for _, c := range []backoff.Config{
			{Name: "a"}, {Name: "a", Mode: backoff.Sleep}, {Name: "b", MaxInterval: 2 * time.Millisecond},
		} {
			c.InitialInterval, c.DownMultiplierThreshold, c.Hooks = time.Millisecond, 2, a.hooks()
			all = append(all, l.backoff(t, c))
		}
		atRandom(16, 10, func(dice *rand.Rand) {
			for range few(200, 80) {
				a.randomCall(all[dice.IntN(len(all))], dice)
			}
			l.read(t)
		})
		l.read(t).settled().want(t, a.series)
		equal(t, "waiting", l.read(t).with(semconv.MetricBackoffWaiting), 0)
		a.series.wantSome(t,
			"direction=up,throttle.backoff.name=a", "direction=down,throttle.backoff.name=a", "direction=up,throttle.backoff.name=b",
			"name=a,throttle.backoff.outcome=success", "name=b,throttle.backoff.outcome=throttled", "name=b,throttle.backoff.outcome=ignored",
			"sleep.duration{throttle.backoff.name=a", "sleep.duration{throttle.backoff.name=b",
		)
	})
}
