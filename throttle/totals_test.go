package throttle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// counts are those totals of a throttle that hooks can count too.
type counts struct {
	Ended     throttle.Totals
	Shed      throttle.CauseTotals
	Shadow    throttle.ShadowTotals
	Fallbacks throttle.Totals
}

func countsOf(p throttle.PriorityStats) counts {
	return counts{Ended: p.Ended, Shed: p.Shed, Shadow: p.ShadowShed, Fallbacks: p.Fallbacks}
}

// audit counts what the hooks are told. What one call is told of is put together by way of its context.
type audit struct {
	byPriority [throttle.StandardPriorities]counts
}

type fateKey struct{}

// fateOf is what has been told of a call.
type fateOf struct {
	cause  throttle.Cause
	shadow bool
}

func (a *audit) hooks() throttle.Hooks {
	fate := func(ctx context.Context) *fateOf { return ctx.Value(fateKey{}).(*fateOf) }
	return throttle.Hooks{
		Shed: func(ctx context.Context, e throttle.ShedEvent) {
			if e.Shadow {
				fate(ctx).cause = e.Cause
				return
			}
			atomic.AddUint64(&a.byPriority[e.Priority].Shed[e.Cause], 1)
		},
		Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
			fate(ctx).shadow = e.Shadow
			return ctx
		},
		Finished: func(ctx context.Context, e throttle.FinishEvent) {
			c := &a.byPriority[e.Priority]
			where := &c.Ended
			if e.Shadow != fate(ctx).shadow {
				panic("Started and Finished differ about Shadow")
			}
			if e.Shadow {
				where = &c.Shadow[fate(ctx).cause]
			}
			atomic.AddUint64(&where[e.Outcome][e.Fault], 1)
		},
		FellBack: func(_ context.Context, e throttle.FallbackEvent) {
			atomic.AddUint64(&a.byPriority[e.Priority].Fallbacks[e.Outcome][throttle.FaultOf(e.Err)], 1)
		},
	}
}

// randomCall makes a call of some form that ends somehow.
func randomCall(t *testing.T, th *throttle.Throttle, dice *rand.Rand) {
	ends := []error{nil, nil, errPlain, errBusy, errBusy, errBusy, context.DeadlineExceeded, context.Canceled, faults.NotFound, throttle.RejectedError(errPlain)}
	end := func() error { return ends[dice.IntN(len(ends))] }
	ctx := context.WithValue(t.Context(), fateKey{}, &fateOf{})
	p := throttle.Priority(dice.IntN(throttle.StandardPriorities))
	switch dice.IntN(6) {
	case 0:
		_ = th.Do(ctx, p, returns(end()))
	case 1:
		_ = th.Do(ctx, p, returns(end()), func(context.Context, error, bool) error { return end() })
	case 2:
		_, _ = throttle.Do(ctx, th, p, func(context.Context) (int, error) { return 0, end() },
			func(context.Context, error, bool) (int, error) { return 1, end() })
	case 3:
		if call, err := th.Admit(ctx, p); err == nil {
			call.Done(end())
		}
	case 4:
		if call, err := th.Admit(ctx, p); err == nil {
			call.Finish(throttle.Outcome(dice.IntN(throttle.NumOutcomes)))
		}
	case 5:
		_ = survive(func() {
			_ = th.Do(ctx, p, func(context.Context) error { panic("boom") })
		})
	}
}

// underWay makes random calls on n goroutines, each of which turns the mode on every so often.
func underWay(t *testing.T, th *throttle.Throttle, n, calls int, each func(*rand.Rand)) {
	t.Helper()
	var wg sync.WaitGroup
	var turns atomic.Int64
	for i := range n {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 1))
			for call := range calls {
				if call%40 == 0 {
					mode := throttle.Mode(turns.Add(1) % int64(throttle.Off+1))
					if err := th.Tune(func(u *throttle.Tuning) { u.Mode = mode }); err != nil {
						t.Errorf("Tune: got error %v want nil", err)
					}
				}
				each(dice)
			}
		})
	}
	wg.Wait()
}

// TestTotalsAreWhatTheHooksWereTold, one for one, whatever the modes were meanwhile.
func TestTotalsAreWhatTheHooksWereTold(t *testing.T) {
	var told audit
	th := build(t, throttle.Config{Hooks: told.hooks()})
	underWay(t, th, 64, 1000, func(dice *rand.Rand) { randomCall(t, th, dice) })
	var all counts
	for p, want := range told.byPriority {
		got := tier(th, throttle.Priority(p))
		if countsOf(got) != want {
			t.Errorf("%v:\ngot  %s\nwant %s", throttle.Priority(p), inFull(countsOf(got)), inFull(want))
		}
		equal(t, "in flight", got.InFlight, 0)
		for c := range all.Shed {
			all.Shed[c] += want.Shed[c]
			all.Shadow[c][0][0] += want.Shadow[c].Sum()
		}
	}
	for c := range all.Shed {
		if all.Shed[c] == 0 || all.Shadow[c].Sum() == 0 {
			t.Errorf("cause %v: got %d shed and %d in shadow, want some of each, or not all has been tested",
				throttle.Cause(c), all.Shed[c], all.Shadow[c].Sum())
		}
	}
}

// TestFirstFailuresAtOnceAreAllCounted: the room for rare totals is made by the first call that needs it, and when several
// are the first, none may be lost.
func TestFirstFailuresAtOnceAreAllCounted(t *testing.T) {
	const callers, rounds = 16, 300
	for range rounds {
		th := build(t, throttle.Config{Rand: lucky})
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range callers {
			wg.Go(func() {
				<-start
				_ = th.Do(t.Context(), throttle.High, returns(errBusy), func(context.Context, error, bool) error { return nil })
			})
		}
		close(start)
		wg.Wait()
		wantAdmitted(t, th, throttle.High, callers, throttle.Rejected, throttle.FaultAvailability)
		equal(t, "fallbacks", tier(th, throttle.High).Fallbacks[throttle.Rejected][throttle.FaultNone], callers)
	}
}

func inFull(c counts) string {
	return fmt.Sprintf("ended %s shed %v shadow %s and %s fallbacks %s", describe(c.Ended), c.Shed,
		describe(c.Shadow[throttle.Own]), describe(c.Shadow[throttle.Above]), describe(c.Fallbacks))
}

// totalsOf lists every number of s that must never fall, in a fixed order.
func totalsOf(s throttle.Stats) []uint64 {
	var all []uint64
	list := func(totals throttle.Totals) {
		for o := range totals {
			all = append(all, totals[o][:]...)
		}
	}
	for _, p := range s.Priorities {
		list(p.Ended)
		list(p.ShadowShed[throttle.Own])
		list(p.ShadowShed[throttle.Above])
		list(p.Fallbacks)
		all = append(append(all, p.Shed[:]...), p.Clamped, p.Ended.Sum())
	}
	return all
}

// TestNoTotalEverFalls reads without a pause while calls go on: a total that falls looks like a restart. In flight is never
// negative, and a probability never leaves its range.
func TestNoTotalEverFalls(t *testing.T) {
	th := build(t, throttle.Config{Window: time.Second, Hooks: (&audit{}).hooks()})
	var reader sync.WaitGroup
	var over atomic.Bool
	reader.Go(func() {
		before := totalsOf(th.Stats())
		for !over.Load() {
			s := th.Stats()
			after := totalsOf(s)
			for i := range after {
				if after[i] < before[i] {
					t.Errorf("number %d: got %d after %d, want it never to fall", i, after[i], before[i])
				}
			}
			for _, p := range s.Priorities {
				if p.InFlight < 0 || p.Probability < 0 || p.Probability >= 1 || p.Window.Requests() > 1e6 {
					t.Errorf("got %d in flight, probability %v and window %+v, want all within bounds", p.InFlight, p.Probability, p.Window)
				}
			}
			before = after
		}
	})
	underWay(t, th, 8, 2500, func(dice *rand.Rand) {
		randomCall(t, th, dice)
		_ = th.Do(context.WithValue(t.Context(), fateKey{}, &fateOf{}), throttle.Priority(dice.IntN(9)-2), succeed)
	})
	over.Store(true)
	reader.Wait()
	var clamped uint64
	for _, p := range th.Stats().Priorities {
		clamped += p.Clamped
	}
	if clamped == 0 {
		t.Error("clamped: got 0, want some, or not all has been tested")
	}
}
