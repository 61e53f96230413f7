package throttle_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestTuneChangesTheFieldsThatAreSet(t *testing.T) {
	th := build(t, throttle.Config{Ratio: 3, MinimumRate: 4, Mode: throttle.ModeShadow})
	tune(t, th, throttle.Patch{})
	now, _ := th.Tuning()
	equal(t, "after nothing", now, throttle.Tuning{Ratio: 3, MinimumRate: 4, Mode: throttle.ModeShadow})
	tune(t, th, throttle.Patch{Ratio: new(1.5), Mode: new(throttle.ModeOff)})
	now, code := th.Tuning()
	equal(t, "after", now, throttle.Tuning{Ratio: 1.5, MinimumRate: 4, Mode: throttle.ModeOff})
	equal(t, "of the code", code, now)
	s := th.Stats()
	equal(t, "Stats", throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode}, now)
}

func TestTuneRefusesNonsenseAndChangesNothing(t *testing.T) {
	type patch = throttle.Patch
	for want, change := range map[string]patch{
		"Patch.Ratio is 1: want more than 1, at most 1e6":                      {Ratio: new(1.0)},
		"Patch.Ratio is 0: ":                                                   {Ratio: new(0.0)},
		"Patch.Ratio is NaN: ":                                                 {Ratio: new(float64(math.NaN()))},
		"Patch.MinimumRate is 0: want more than 0, at most 1e9":                {MinimumRate: new(0.0)},
		"Patch.MinimumRate is -Inf: ":                                          {MinimumRate: new(float64(math.Inf(-1)))},
		"Patch.Mode is mode(3): want ModeEnforce, ModeShadow or ModeOff":       {Mode: new(throttle.Mode(3))},
		"Patch.Mode is mode(77): ":                                             {Ratio: new(5.0), Mode: new(throttle.Mode(77))},
		"Patch.MinimumRate is 0: want more than 0, at most 1e9\nthrottle: Pat": {MinimumRate: new(0.0), Mode: new(throttle.Mode(3))},
	} {
		th, group := build(t, throttle.Config{}), newGroup(t, (&register{}).config, throttle.GroupConfig{})
		for _, err := range []error{
			th.Tune(change), th.Override(throttle.SourceFile, change), change.Validate(), group.Tune(change),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "throttle: "+want) {
				t.Errorf("error: got %v want %q", err, want)
			}
		}
		for _, th := range []*throttle.Throttle{th, member(t, group, "a")} {
			now, _ := th.Tuning()
			equal(t, "in force", now, throttle.Tuning{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeEnforce})
		}
	}
}

func TestARatioIsInForceForTheNextCall(t *testing.T) {
	th := build(t, throttle.Config{Rand: unlucky})
	times(10, th, throttle.High, nil)
	times(5, th, throttle.High, errBusy)
	for _, ratio := range []float64{1000, 1.01, 1000, 1.01} {
		tune(t, th, throttle.Patch{Ratio: new(ratio)})
		equal(t, "the function ran", ran(th, throttle.High, nil), ratio > 2)
	}
}

func TestAHigherMinimumRateLowersTheProbabilityAtOnce(t *testing.T) {
	th := shedding(t, throttle.Config{MinimumRate: 1, Window: time.Minute})
	requests := float64(tier(th, throttle.High).Window.Requests())
	equal(t, "probability", th.RejectionProbability(throttle.High), requests/(requests+60))
	tune(t, th, throttle.Patch{MinimumRate: new(10.0)})
	equal(t, "probability at a higher rate", th.RejectionProbability(throttle.High), requests/(requests+600))
}

func TestAChangeIsWholeWhileManyTuneAndCall(t *testing.T) {
	const tuners = 64
	changes := sized(50, 10)
	th := build(t, throttle.Config{Ratio: 2})
	var wg sync.WaitGroup
	for i := range tuners {
		wg.Go(func() {
			for n := range changes {
				ratio := float64(2 + i*changes + n)
				tune(t, th, throttle.Patch{Ratio: &ratio, MinimumRate: new(ratio - 1)})
				if err := th.Tune(throttle.Patch{Ratio: new(float64(math.NaN()))}); err == nil {
					t.Error("Tune to NaN: got no error")
				}
				s := th.Stats()
				equal(t, "Ratio moves with MinimumRate", s.Ratio, s.MinimumRate+1)
				times(2, th, throttle.Priority(i%4), []error{nil, errBusy}[i%2])
			}
		})
	}
	wg.Wait()
	for p, got := range th.Stats().Priorities {
		equal(t, "calls, admitted or shed", got.Ended.Sum()+got.Shed.Sum(), uint64(tuners/4*changes*2))
		equal(t, throttle.Priority(p).String()+" in flight", got.InFlight, 0)
	}
}

func TestTheLastModeHoldsWhileManyCall(t *testing.T) {
	th := shedding(t, throttle.Config{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					times(1, th, throttle.High, errBusy)
				}
			}
		})
	}
	for range sized(300, 30) {
		tune(t, th, throttle.Patch{Mode: new(throttle.ModeOff)})
		tune(t, th, throttle.Patch{Mode: new(throttle.ModeEnforce)})
	}
	tune(t, th, throttle.Patch{Mode: new(throttle.ModeOff)})
	for range 100 {
		equal(t, "Do in Off", th.Do(context.Background(), throttle.High, returns(errBusy)), errBusy)
	}
	tune(t, th, throttle.Patch{Mode: new(throttle.ModeEnforce)})
	close(stop)
	wg.Wait()
	err := th.Do(context.Background(), throttle.High, returns(errBusy))
	equal(t, "sheds in Enforce", errors.Is(err, throttle.ErrShed), true)
}

// TestOverride_isAboveTheCode until it ends. Group.Tune and Tune change what is below it.
func TestOverride_isAboveTheCode(t *testing.T) {
	g := newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{Created: func(th *throttle.Throttle) {
			equal(t, "Override", th.Override(throttle.SourceHTTP, throttle.Patch{Mode: new(throttle.ModeOff)}), nil)
		}}}
	}, throttle.GroupConfig{})
	equal(t, "Tune", g.Tune(throttle.Patch{Mode: new(throttle.ModeShadow), Ratio: new(5.0)}), nil)
	th := member(t, g, "a")
	now, code := th.Tuning()
	equal(t, "in force", now, throttle.Tuning{Ratio: 5, MinimumRate: 1, Mode: throttle.ModeOff})
	equal(t, "of the code", code, throttle.Tuning{Ratio: 5, MinimumRate: 1, Mode: throttle.ModeShadow})
	equal(t, "Stats", th.Stats().Mode, throttle.ModeOff)
	equal(t, "end of the override", th.Override(throttle.SourceHTTP, throttle.Patch{}), nil)
	equal(t, "after the override", th.Stats().Mode, throttle.ModeShadow)
}
