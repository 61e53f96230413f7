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
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change throttle.Patch
		want   []string
	}{
		"Ratio 1":            {throttle.Patch{Ratio: new(1.0)}, []string{"Patch.Ratio is 1: want more than 1, at most 1e6"}},
		"Ratio 0":            {throttle.Patch{Ratio: new(0.0)}, []string{"Patch.Ratio is 0: "}},
		"Ratio NaN":          {throttle.Patch{Ratio: new(nan)}, []string{"Patch.Ratio is NaN: "}},
		"Ratio Inf":          {throttle.Patch{Ratio: new(inf)}, []string{"Patch.Ratio is +Inf: "}},
		"MinimumRate 0":      {throttle.Patch{MinimumRate: new(0.0)}, []string{"Patch.MinimumRate is 0: want more than 0, at most 1e9"}},
		"MinimumRate NaN":    {throttle.Patch{MinimumRate: new(nan)}, []string{"Patch.MinimumRate is NaN: "}},
		"MinimumRate -Inf":   {throttle.Patch{MinimumRate: new(float64(-inf))}, []string{"Patch.MinimumRate is -Inf: "}},
		"Mode 3":             {throttle.Patch{Mode: new(throttle.Mode(3))}, []string{"Patch.Mode is mode(3): want ModeEnforce, ModeShadow or ModeOff"}},
		"good with bad":      {throttle.Patch{Ratio: new(5.0), Mode: new(throttle.Mode(77))}, []string{"Patch.Mode is mode(77): "}},
		"everything at once": {throttle.Patch{Ratio: new(0.0), MinimumRate: new(0.0), Mode: new(throttle.Mode(3))}, []string{"Patch.Ratio", "Patch.MinimumRate", "Patch.Mode"}},
	} {
		t.Run(name, func(t *testing.T) {
			th := build(t, throttle.Config{})
			err := th.Tune(c.change)
			if err == nil {
				t.Fatal("Tune: got no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "throttle: ") {
					t.Errorf("error: got %q want one with %q", err, want)
				}
			}
			s := th.Stats()
			equal(t, "in force", throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode},
				throttle.Tuning{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeEnforce})
		})
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
	g, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{Created: func(th *throttle.Throttle) {
			if err := th.Override(throttle.SourceHTTP, throttle.Patch{Mode: new(throttle.ModeOff)}); err != nil {
				t.Error(err)
			}
		}}}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Tune(throttle.Patch{Mode: new(throttle.ModeShadow), Ratio: new(5.0)}); err != nil {
		t.Fatal(err)
	}
	th, err := g.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	now, code := th.Tuning()
	equal(t, "in force", now, throttle.Tuning{Ratio: 5, MinimumRate: 1, Mode: throttle.ModeOff})
	equal(t, "of the code", code, throttle.Tuning{Ratio: 5, MinimumRate: 1, Mode: throttle.ModeShadow})
	equal(t, "Stats", th.Stats().Mode, throttle.ModeOff)
	if err := th.Override(throttle.SourceHTTP, throttle.Patch{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the override", th.Stats().Mode, throttle.ModeShadow)
}

// TestOverride_refusesInvalid values, and a throttle that does not come from New.
func TestOverride_refusesInvalid(t *testing.T) {
	th, wrong := build(t, throttle.Config{}), throttle.Patch{Ratio: new(0.5)}
	for _, err := range []error{th.Override(throttle.SourceFile, wrong), wrong.Validate()} {
		if err == nil || !strings.Contains(err.Error(), "throttle: Patch.Ratio is 0.5: want more than 1, at most 1e6") {
			t.Errorf("got %v", err)
		}
	}
	var none *throttle.Throttle
	now, code := none.Tuning()
	if none.Override(throttle.SourceFile, throttle.Patch{}) == nil || none.Tune(throttle.Patch{}) == nil || now != code {
		t.Error("a nil throttle: got no error")
	}
}
