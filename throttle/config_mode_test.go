package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// pair is a throttle and its twin, with the same time and the same dice, one enforcing and one in the shadow.
type pair struct {
	*throttletest.Clock
	enforce, shadow *throttle.Throttle
	shed            [2][]bool // what each has been told to shed, call by call
}

func newPair(t *testing.T, seed uint64) *pair {
	p := &pair{Clock: throttletest.NewClock(newYear(2026))}
	twin := func(i int, mode throttle.Mode) *throttle.Throttle {
		return build(t, throttle.Config{
			Mode: mode, Now: p.Now, Rand: rand.New(rand.NewPCG(seed, seed)).Float64, Window: 10 * time.Second,
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
		p.Advance(time.Duration(dice.IntN(int(4 * time.Millisecond))))
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

// TestAfterModeOffTheWindowCounts, though the alert has ended.
func TestAfterModeOffTheWindowCounts(t *testing.T) {
	for _, policy := range []throttle.Policy{throttle.Tiered, throttle.SRE} {
		synctest.Test(t, func(t *testing.T) {
			th := build(t, throttle.Config{Policy: policy, Window: 10 * time.Second, Mode: throttle.ModeOff})
			rejectMany(t, th, throttle.High, 90)
			equal(t, "alert in ModeOff", th.Stats().State.Alert, throttle.NoAlert)
			setMode(t, th, throttle.ModeEnforce)
			if got := th.RejectionProbability(throttle.High); got < 0.85 {
				t.Errorf("%v, after ModeOff: got a probability of %v want that of 90 rejections", policy, got)
			}
			time.Sleep(11 * time.Second) // a window without calls
			equal(t, "probability of a throttle that begins again", th.RejectionProbability(throttle.High), 0)
		})
	}
}

// TestACallKeepsTheModeItBeganWith: the decision has been taken, and told.
func TestACallKeepsTheModeItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Mode: throttle.ModeShadow, Rand: fate.throw})
		rejectMany(t, th, throttle.High, 60)
		fate.sheds.Store(true)
		call := admit(t, th, throttle.High)
		setMode(t, th, throttle.ModeEnforce)
		call.Done(errBusy)
		equal(t, "would have been shed", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn).Outcome(throttle.Rejected), 1)
		equal(t, "admitted", tier(th, throttle.High).Ended.Sum(), 60)
		_, err := th.Admit(t.Context(), throttle.High)
		equal(t, "the next one is shed", errors.Is(err, throttle.ErrShed), true)
	})
}
