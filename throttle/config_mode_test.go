package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestWhatEachModeDoesWithACallToShed: after an overload, with dice that shed whatever may be shed.
func TestWhatEachModeDoesWithACallToShed(t *testing.T) {
	var dry throttle.Totals
	dry.Add(throttle.Accepted, throttle.FaultOther, 1)
	cases := []struct {
		mode   throttle.Mode
		ran    bool
		shed   uint64
		shadow throttle.Totals
		ended  uint64 // calls with an ordinary error among the admitted ones
		window throttle.WindowStats
		after  float64 // the probability that the call leaves behind
	}{
		{mode: throttle.ModeEnforce, ran: false, shed: 1, window: throttle.WindowStats{Rejected: 60, Shed: 1}, after: 61.0 / 121},
		{mode: throttle.ModeShadow, ran: true, shadow: dry, window: throttle.WindowStats{Rejected: 60, Shed: 1}, after: 61.0 / 121},
		{mode: throttle.ModeOff, ran: true, ended: 1, window: throttle.WindowStats{Rejected: 60, Accepted: 1}, after: 59.0 / 121},
	}
	for _, c := range cases {
		t.Run(c.mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fate die
				var shadows, finished uint64
				th := build(t, throttle.Config{Mode: c.mode, Rand: fate.throw, Hooks: throttle.Hooks{
					Finished: func(_ context.Context, e throttle.FinishEvent) { finished++; shadows += count(e.Shadow) },
				}})
				rejectMany(t, th, throttle.High, 60)
				equal(t, "probability is what Enforce would shed at", th.RejectionProbability(throttle.High), 0.5)
				fate.sheds.Store(true)
				equal(t, "the function ran", ran(th, throttle.High, errPlain), c.ran)

				got := tier(th, throttle.High)
				equal(t, "shed", got.Shed.Count(throttle.CauseOwn), c.shed)
				equal(t, "would have been shed", got.ShadowShed.Cause(throttle.CauseOwn), c.shadow)
				equal(t, "admitted with an ordinary error", got.Ended.Count(throttle.Accepted, throttle.FaultOther), c.ended)
				equal(t, "admitted", got.Ended.Sum(), 60+c.ended)
				equal(t, "window", got.Window, c.window)
				equal(t, "in flight", got.InFlight, 0)
				equal(t, "finished", finished, 60+count(c.ran))
				equal(t, "finished in Shadow", shadows, count(c.mode == throttle.ModeShadow))
				if !near(th.RejectionProbability(throttle.High), c.after) {
					t.Errorf("probability after it: got %v want %v", th.RejectionProbability(throttle.High), c.after)
				}
			})
		})
	}
}

// TestShadowCountsRealOutcomesApart: every way to end is counted as what it is, apart from the calls that Enforce would admit.
func TestShadowCountsRealOutcomesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Mode: throttle.ModeShadow, Rand: fate.throw})
		rejectMany(t, th, throttle.High, 600)
		rejectMany(t, th, throttle.Low, 60)
		fate.sheds.Store(true)
		var want throttle.Totals
		for end, n := range map[error]int{nil: 2, errPlain: 3, errBusy: 4, context.Canceled: 5} {
			times(n, th, throttle.High, end)
			times(n, th, throttle.Low, end)
			want.Add(throttle.DefaultClassify(t.Context(), end), throttle.FaultOf(end), uint64(n))
		}
		call, err := th.Admit(t.Context(), throttle.High)
		equal(t, "Admit", err, nil)
		equal(t, "in flight", tier(th, throttle.High).InFlight, 1)
		call.Finish(throttle.Rejected)

		equal(t, "low, above", tier(th, throttle.Low).ShadowShed.Cause(throttle.CauseAbove), want)
		equal(t, "low, own", tier(th, throttle.Low).ShadowShed.Cause(throttle.CauseOwn), throttle.Totals{})
		want.Add(throttle.Rejected, throttle.FaultNone, 1)
		equal(t, "high, own", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn), want)
		wantAdmitted(t, th, throttle.High, 600, throttle.Rejected, throttle.FaultAvailability)
		equal(t, "shed", tier(th, throttle.High).Shed, throttle.CauseTotals{})
		equal(t, "window", tier(th, throttle.High).Window, throttle.WindowStats{Rejected: 600, Shed: 15})
	})
}

// pair is a throttle and its twin, with the same time and the same dice, one enforcing and one in the shadow.
type pair struct {
	*watch
	enforce, shadow *throttle.Throttle
	shed            [2][]bool // what each has been told to shed, call by call
}

func newPair(t *testing.T, seed uint64) *pair {
	p := &pair{watch: watchFrom(newYear(2026))}
	twin := func(i int, mode throttle.Mode) *throttle.Throttle {
		return build(t, throttle.Config{
			Mode: mode, Now: p.now, Rand: rand.New(rand.NewPCG(seed, seed)).Float64, Window: 10 * time.Second,
			Hooks: throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) {
				p.shed[i][len(p.shed[i])-1] = true
				equal(t, "ShedEvent.Shadow", e.Shadow, mode == throttle.ModeShadow)
			}},
		})
	}
	p.enforce, p.shadow = twin(0, throttle.ModeEnforce), twin(1, throttle.ModeShadow)
	return p
}

func (p *pair) call(priority throttle.Priority, end error) {
	for i, th := range []*throttle.Throttle{p.enforce, p.shadow} {
		p.shed[i] = append(p.shed[i], false)
		_ = th.Do(context.Background(), priority, returns(end))
	}
}

// TestShadowDecidesAsEnforceWould, to the last bit, through calm and storm: it books the window as if it had shed.
func TestShadowDecidesAsEnforceWould(t *testing.T) {
	p := newPair(t, 7)
	dice := rand.New(rand.NewPCG(7, 8))
	highest, shed := 0.0, 0
	calls := sized(20_000, 4000)
	for i := range calls {
		p.advance(time.Duration(dice.IntN(int(4 * time.Millisecond))))
		failing := 0.9 * float64(10*i/calls%2) // storms come and go
		var end error
		if dice.Float64() < failing {
			end = errBusy
		}
		p.call(throttle.Priority(dice.IntN(throttle.StandardPriorities)), end)
		if p.shed[0][i] != p.shed[1][i] {
			t.Fatalf("call %d is to be shed: got %v in Shadow, want %v as in Enforce", i, p.shed[1][i], p.shed[0][i])
		}
		for priority := throttle.High; priority <= throttle.Low; priority++ {
			got, want := p.shadow.RejectionProbability(priority), p.enforce.RejectionProbability(priority)
			if got != want {
				t.Fatalf("probability of %v after call %d: got %v in Shadow, want %v as in Enforce", priority, i, got, want)
			}
			highest = max(highest, got)
		}
		if p.shed[0][i] {
			shed++
		}
	}
	if highest < 0.5 || shed < calls/20 {
		t.Errorf("storms: got a probability of %v at most and %d shed, want more, or nothing has been tested", highest, shed)
	}
	for priority := throttle.High; priority <= throttle.Low; priority++ {
		enforced, dry := tier(p.enforce, priority), tier(p.shadow, priority)
		equal(t, "window", dry.Window, enforced.Window)
		equal(t, "admitted by both", dry.Ended, enforced.Ended)
		for cause, n := range enforced.Shed.All() {
			equal(t, "shadow shed as shed", dry.ShadowShed.Cause(cause).Sum(), n)
		}
	}
}

// TestOffCountsAndDecidesNothing: the dice are not even thrown.
func TestOffCountsAndDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{
			Mode: throttle.ModeOff, Rand: func() float64 { t.Error("got the dice thrown, want them left alone"); return 0 },
			Hooks: throttle.Hooks{
				Shed: func(context.Context, throttle.ShedEvent) { t.Error("got Shed told, want nothing shed") },
				Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
					equal(t, "StartEvent.Probability", e.Probability, 0)
					equal(t, "StartEvent.Shadow", e.Shadow, false)
					return ctx
				},
			},
		})
		for range 50 {
			rejectMany(t, th, throttle.High, 20) // a second goes by
			times(5, th, throttle.Low, errBusy)
		}
		got := tier(th, throttle.High)
		equal(t, "window", got.Window, throttle.WindowStats{Rejected: 1000})
		equal(t, "probability", near(got.Probability, 1000.0/1060), true)
		equal(t, "cause of low", tier(th, throttle.Low).Cause, throttle.CauseAbove)
		time.Sleep(time.Minute + time.Second)
		equal(t, "probability, when all is forgotten", th.RejectionProbability(throttle.High), 0)
		wantAdmitted(t, th, throttle.High, 1000, throttle.Rejected, throttle.FaultAvailability)
	})
}

// TestEverySwitchTakesEffectWithTheNextCall, in an overload, between any two modes and back.
func TestEverySwitchTakesEffectWithTheNextCall(t *testing.T) {
	modes := []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow, throttle.ModeOff}
	for _, from := range modes {
		for _, to := range modes {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				th := build(t, throttle.Config{Mode: from, Rand: unlucky, Now: watchFrom(newYear(2026)).now})
				times(1000, th, throttle.High, errBusy) // time stands still: no bucket ends
				for _, mode := range []throttle.Mode{to, from, to} {
					setMode(t, th, mode)
					before := tier(th, throttle.High)
					if before.Probability < 0.5 {
						t.Fatalf("probability: got %v want an overload", before.Probability)
					}
					equal(t, mode.String()+": the function ran", ran(th, throttle.High, errBusy), mode != throttle.ModeEnforce)
					after := tier(th, throttle.High)
					equal(t, mode.String()+": shed", after.Shed.Count(throttle.CauseOwn)-before.Shed.Count(throttle.CauseOwn), count(mode == throttle.ModeEnforce))
					equal(t, mode.String()+": would have been shed", after.ShadowShed.Cause(throttle.CauseOwn).Sum()-before.ShadowShed.Cause(throttle.CauseOwn).Sum(),
						count(mode == throttle.ModeShadow))
					equal(t, mode.String()+": admitted", after.Ended.Sum()-before.Ended.Sum(), count(mode == throttle.ModeOff))
					equal(t, mode.String()+": Stats.Mode", th.Stats().Mode, mode)
				}
			})
		}
	}
}

// TestACallKeepsTheModeItBeganWith: the decision has been taken, and told.
func TestACallKeepsTheModeItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Mode: throttle.ModeShadow, Rand: fate.throw})
		rejectMany(t, th, throttle.High, 60)
		fate.sheds.Store(true)
		call, err := th.Admit(t.Context(), throttle.High)
		equal(t, "Admit in Shadow", err, nil)
		setMode(t, th, throttle.ModeEnforce)
		call.Done(errBusy)
		equal(t, "would have been shed", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn).Outcome(throttle.Rejected), 1)
		equal(t, "admitted", tier(th, throttle.High).Ended.Sum(), 60)
		_, err = th.Admit(t.Context(), throttle.High)
		equal(t, "the next one is shed", errors.Is(err, throttle.ErrShed), true)
	})
}
