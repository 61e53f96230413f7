package throttle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

func TestShedCallsAreCountedByCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Rand: fate.throw})
		rejectMany(t, th, throttle.High, 300)
		rejectMany(t, th, throttle.Low, 20)
		fate.sheds.Store(true)
		times(5, th, throttle.High, nil)
		times(7, th, throttle.Low, nil)
		times(2, th, throttle.Medium, nil) // which the backend has not rejected
		equal(t, "high", tier(th, throttle.High).Shed, shedBy(throttle.CauseOwn, 5))
		equal(t, "low", tier(th, throttle.Low).Shed, shedBy(throttle.CauseAbove, 7))
		equal(t, "medium", tier(th, throttle.Medium).Shed, throttle.CauseTotals{})
		wantAdmitted(t, th, throttle.Low, 20, throttle.Rejected, throttle.FaultAvailability)

		low := tier(th, throttle.Low)
		equal(t, "low's window", low.Window, throttle.WindowStats{Rejected: 20, Shed: 7})
		equal(t, "low's cause", low.Cause, throttle.CauseAbove)
		equal(t, "low's probability", low.Probability, th.RejectionProbability(throttle.Low))
		high := tier(th, throttle.High)
		equal(t, "high's window", high.Window, throttle.WindowStats{Rejected: 300, Shed: 5})
		equal(t, "high's requests in the window", high.Window.Requests(), 305)
		equal(t, "high's cause", high.Cause, throttle.CauseOwn)
		equal(t, "high's probability", near(high.Probability, 305.0/365), true)
	})
}

func TestStatsAsJSON(t *testing.T) {
	th := buildTiered(t, throttle.Config{
		Name: "orders", Priorities: 6, Ratio: 1.5, MinimumRate: 3, Window: 30 * time.Second,
		TargetRejection: 0.2, Mode: throttle.ModeShadow,
	})
	text, err := json.Marshal(th.Stats())
	equal(t, "error", err, nil)
	var got throttle.Stats
	equal(t, "error of reading it", json.Unmarshal(text, &got), nil)
	equal(t, "what is read is what was written", reflect.DeepEqual(got, th.Stats()), true)
}

// shedBy returns the totals of n calls shed for one cause.
func shedBy(c throttle.Cause, n uint64) (totals throttle.CauseTotals) {
	totals.Add(c, n)
	return totals
}

// counts are the totals of a throttle that hooks can count too.
type counts struct {
	ended     throttle.Totals
	shed      throttle.CauseTotals
	shadow    [throttle.CauseTold + 1]throttle.Totals
	fallbacks throttle.Totals
}

func countsOf(p throttle.PriorityStats) counts {
	c := counts{ended: p.Ended, shed: p.Shed, fallbacks: p.Fallbacks}
	for cause, totals := range p.ShadowShed.All() {
		c.shadow[cause] = totals
	}
	return c
}

// audit counts what the hooks receive. The events of one call are put together by way of its context.
type audit struct {
	mu         sync.Mutex
	byPriority [throttle.StandardPriorities]counts
	overloaded [throttle.StandardPriorities]uint64 // rejections of a full backend, by the Finished hook
}

type fateKey struct{}

// fateOf is what the hooks have received of a call.
type fateOf struct {
	cause                             throttle.Cause
	shadow                            bool
	shed, started, fellBack, finished int
}

func (a *audit) hooks() throttle.Hooks {
	fate := func(ctx context.Context) *fateOf { return ctx.Value(fateKey{}).(*fateOf) }
	return throttle.Hooks{
		Shed: func(ctx context.Context, e throttle.ShedEvent) {
			fate(ctx).shed++
			if e.Shadow {
				fate(ctx).cause = e.Cause
				return
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.byPriority[e.Priority].shed.Add(e.Cause, 1)
		},
		Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
			fate(ctx).started++
			fate(ctx).shadow = e.Shadow
			return ctx
		},
		Finished: func(ctx context.Context, e throttle.FinishEvent) {
			fate(ctx).finished++
			c := &a.byPriority[e.Priority]
			where := &c.ended
			if e.Shadow != fate(ctx).shadow {
				panic("Started and Finished differ about Shadow")
			}
			if e.Shadow {
				where = &c.shadow[fate(ctx).cause]
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			where.Add(e.Outcome, e.Fault, 1)
			a.overloaded[e.Priority] += count(e.Overloaded && !e.Shadow)
		},
		FellBack: func(ctx context.Context, e throttle.FallbackEvent) {
			fate(ctx).fellBack++
			a.mu.Lock()
			defer a.mu.Unlock()
			a.byPriority[e.Priority].fallbacks.Add(e.Outcome, throttle.FaultOf(e.Err), 1)
		},
	}
}

// accident panics or leaves its goroutine, once in five times.
func accident() {
	switch rand.IntN(10) {
	case 0:
		panic("an accident")
	case 1:
		runtime.Goexit()
	}
}

// accidentProne returns hooks that have accidents.
func accidentProne() throttle.Hooks {
	return throttle.Hooks{
		Shed:     func(context.Context, throttle.ShedEvent) { accident() },
		Started:  func(ctx context.Context, _ throttle.StartEvent) context.Context { accident(); return ctx },
		Finished: func(context.Context, throttle.FinishEvent) { accident() },
		FellBack: func(context.Context, throttle.FallbackEvent) { accident() }, // maybe the second one of a call
	}
}

// randomCall makes a call of some form that ends somehow. It has a goroutine of its own, because a call may not come back
// from it. Its functions call maybe.
func randomCall(t *testing.T, th *throttle.Throttle, dice *rand.Rand, maybe func()) {
	ends := []error{nil, nil, errPlain, errBusy, errBusy, errBusy, context.DeadlineExceeded, context.Canceled, faults.NotFound, throttle.MarkRejected(errPlain), throttle.MarkOverloaded(errPlain)}
	end := func() error { return ends[dice.IntN(len(ends))] }
	fn := func(context.Context) error { maybe(); return end() }
	fallback := func(context.Context, error, bool) error { maybe(); return end() }
	var fate fateOf
	ctx := context.WithValue(t.Context(), fateKey{}, &fate)
	p := throttle.Priority(dice.IntN(throttle.StandardPriorities + 1)) // the last one is clamped
	elsewhere(func() {
		defer func() {
			if r := recover(); r != nil && r != "an accident" {
				t.Errorf("got panic %v, want the accident's", r)
			}
		}()
		switch dice.IntN(6) {
		case 0:
			_ = th.Do(ctx, p, fn)
		case 1:
			_ = th.Do(ctx, p, fn, fallback)
		case 2:
			_, _ = throttle.Do(ctx, th, p, func(ctx context.Context) (int, error) { return 0, fn(ctx) },
				func(ctx context.Context, err error, local bool) (int, error) { return 1, fallback(ctx, err, local) })
		case 3:
			if call, err := th.Admit(ctx, p); err == nil {
				runtime.Gosched() // other calls come, and the clock of a test with Slow goes on
				call.Done(end())
			}
		case 4:
			if call, err := th.Admit(ctx, p); err == nil {
				call.Finish(throttle.Outcome(dice.IntN(int(throttle.Overloaded) + 1)))
			}
		case 5:
			_ = th.Do(ctx, p, func(context.Context) error { panic("an accident") })
		}
	})
	if fate.finished != fate.started || max(fate.shed, fate.started, fate.fellBack) > 1 {
		t.Errorf("told %+v, want at most one of each, and as many finished as started", fate)
	}
}

// underWay makes random calls on n goroutines, each of which turns the mode on every so often.
func underWay(t *testing.T, th *throttle.Throttle, n, calls int, each func(*rand.Rand)) {
	t.Helper()
	var turns atomic.Int64
	parallel(n, func(i int) {
		dice := rand.New(rand.NewPCG(uint64(i), 1))
		for call := range calls {
			if call%40 == 0 {
				setMode(t, th, throttle.Mode(turns.Add(1)%int64(throttle.ModeOff+1)))
			}
			each(dice)
		}
	})
}

// TestTotalsAreWhatTheHooksWereTold, one for one, whatever the modes were meanwhile, also if everything that a call runs,
// hooks and classifier included, panics or leaves its goroutine at random. All joined Finished hooks are called then.
func TestTotalsAreWhatTheHooksWereTold(t *testing.T) {
	nothing := func() {}
	t.Run("fast", func(t *testing.T) {
		totalsAsTold(t, throttle.Config{Window: time.Second}, throttle.CauseAbove, nothing)
	})
	t.Run("accidents", func(t *testing.T) {
		totalsAsTold(t, throttle.Config{
			Hooks:    accidentProne(),
			Classify: func(context.Context, error) (throttle.Outcome, bool) { accident(); return 0, false },
		}, throttle.CauseAbove, accident)
	})
	t.Run("slow", func(t *testing.T) {
		var clock atomic.Int64
		now := func() time.Time { return time.Unix(0, clock.Add(int64(50*time.Microsecond))) }
		th := totalsAsTold(t, throttle.Config{Slow: time.Millisecond, Now: now}, throttle.CauseLimit, nothing)
		equal(t, "calls without an answer", th.Stats().Slow.Open, 0)
		equal(t, "calls written off", th.Stats().Slow.WrittenOff, 0)
		if s := tier(th, throttle.Low).Slow; s.Late == 0 || s.Booked < s.Late/3 {
			t.Errorf("Low: got %+v, want late calls of which a third is booked", s)
		}
	})
}

// totalsAsTold makes calls on a throttle, which must shed for all causes up to last.
func totalsAsTold(t *testing.T, c throttle.Config, last throttle.Cause, maybe func()) *throttle.Throttle {
	var told audit
	c.Hooks = throttle.JoinHooks(told.hooks(), c.Hooks)
	th := build(t, c)
	stop := func() {}
	if c.Slow == 0 { // a reader would move the clock
		stop = neverFalls(t, th)
	}
	underWay(t, th, 64, sized(1000, 200), func(dice *rand.Rand) { randomCall(t, th, dice, maybe) })
	stop()
	var all counts
	for p, want := range told.byPriority {
		got := tier(th, throttle.Priority(p))
		if countsOf(got) != want {
			t.Errorf("%v:\ngot  %s\nwant %s", throttle.Priority(p), inFull(countsOf(got)), inFull(want))
		}
		if c.Slow == 0 { // nothing is booked or refused
			equal(t, "overloaded", got.Overloaded, told.overloaded[p])
		}
		equal(t, "in flight", got.InFlight, 0)
		equal(t, "some are clamped", got.Clamped > 0, throttle.Priority(p) == throttle.Low)
		all.shed.Merge(want.shed)
		for c := range want.shadow {
			all.shadow[c].Merge(want.shadow[c])
		}
	}
	for c, shed := range all.shed.All() {
		if c <= last && (shed == 0 || all.shadow[c].Sum() == 0) {
			t.Errorf("cause %v: got %d shed and %d in shadow, want some of each, or not all has been tested", c, shed, all.shadow[c].Sum())
		}
	}
	return th
}

// TestFirstFailuresAtOnceAreAllCounted: the room for rare totals is made by the first call that needs it, and when several
// are the first, none may be lost.
func TestFirstFailuresAtOnceAreAllCounted(t *testing.T) {
	const callers = 16
	for range sized(300, 60) {
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
		equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(throttle.Rejected, throttle.FaultNone), callers)
	}
}

func inFull(c counts) string {
	return fmt.Sprintf("ended %s shed %v shadow %s and %s fallbacks %s", describe(c.ended), c.shed,
		describe(c.shadow[throttle.CauseOwn]), describe(c.shadow[throttle.CauseAbove]), describe(c.fallbacks))
}

// totalsOf lists every number of s that must never fall, in a fixed order.
func totalsOf(s throttle.Stats) []uint64 {
	var all []uint64
	for _, p := range s.Priorities {
		shadow := p.ShadowShed
		for _, totals := range []throttle.Totals{p.Ended, shadow.Cause(throttle.CauseOwn), shadow.Cause(throttle.CauseAbove), p.Fallbacks} {
			for o := range throttle.Outcomes() {
				for f := range throttle.Faults() {
					all = append(all, totals.Count(o, f))
				}
			}
		}
		all = append(all, p.Shed.Count(throttle.CauseOwn), p.Shed.Count(throttle.CauseAbove), p.Clamped, p.Ended.Sum())
	}
	return all
}

// neverFalls reads without a pause while calls go on, until the returned function is called: a total that falls looks like a
// restart. In flight is never negative, and a probability never leaves its range.
func neverFalls(t *testing.T, th *throttle.Throttle) (stop func()) {
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
	return func() { over.Store(true); reader.Wait() }
}
