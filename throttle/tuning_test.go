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

func TestTuneGetsWhatIsInForceAndPutsInForceWhatItMadeOfIt(t *testing.T) {
	th := build(t, throttle.Config{Ratio: 3, MinimumRate: 4, Mode: throttle.ModeShadow})
	tune(t, th, func(u *throttle.Tuning) {
		equal(t, "before", *u, throttle.Tuning{Ratio: 3, MinimumRate: 4, Mode: throttle.ModeShadow})
		*u = throttle.Tuning{Ratio: 1.5, MinimumRate: 0.5, Mode: throttle.ModeOff}
	})
	tune(t, th, func(u *throttle.Tuning) {
		equal(t, "after", *u, throttle.Tuning{Ratio: 1.5, MinimumRate: 0.5, Mode: throttle.ModeOff})
	})
	s := th.Stats()
	equal(t, "Stats", throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode},
		throttle.Tuning{Ratio: 1.5, MinimumRate: 0.5, Mode: throttle.ModeOff})
}

func TestTuneRefusesNonsenseAndChangesNothing(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change func(*throttle.Tuning)
		want   []string
	}{
		"Ratio 1":            {func(u *throttle.Tuning) { u.Ratio = 1 }, []string{"Tuning.Ratio is 1: want more than 1, at most 1e6"}},
		"Ratio 0":            {func(u *throttle.Tuning) { u.Ratio = 0 }, []string{"Tuning.Ratio is 0: "}},
		"Ratio NaN":          {func(u *throttle.Tuning) { u.Ratio = nan }, []string{"Tuning.Ratio is NaN: "}},
		"Ratio Inf":          {func(u *throttle.Tuning) { u.Ratio = inf }, []string{"Tuning.Ratio is +Inf: "}},
		"MinimumRate 0":      {func(u *throttle.Tuning) { u.MinimumRate = 0 }, []string{"Tuning.MinimumRate is 0: want more than 0, at most 1e9"}},
		"MinimumRate NaN":    {func(u *throttle.Tuning) { u.MinimumRate = nan }, []string{"Tuning.MinimumRate is NaN: "}},
		"MinimumRate -Inf":   {func(u *throttle.Tuning) { u.MinimumRate = -inf }, []string{"Tuning.MinimumRate is -Inf: "}},
		"one per 2 windows":  {func(u *throttle.Tuning) { u.MinimumRate = 1. / 120 }, []string{"Tuning.MinimumRate is 0.00833", "one call per window of 1m0s"}},
		"Mode 3":             {func(u *throttle.Tuning) { u.Mode = 3 }, []string{"Tuning.Mode is mode(3): want ModeEnforce, ModeShadow or ModeOff"}},
		"good with bad":      {func(u *throttle.Tuning) { u.Ratio, u.Mode = 5, 77 }, []string{"Tuning.Mode is mode(77): "}},
		"everything at once": {func(u *throttle.Tuning) { *u = throttle.Tuning{Mode: 3} }, []string{"Tuning.Ratio", "Tuning.MinimumRate", "Tuning.Mode"}},
		"nil":                {nil, []string{"throttle: Tune needs a function"}},
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

func TestAChangeThatPanicsChangesNothing(t *testing.T) {
	th := build(t, throttle.Config{})
	leave(t, "panic", func() {
		_ = th.Tune(func(u *throttle.Tuning) { u.Ratio = 5; panic("boom") })
	})
	equal(t, "Ratio", th.Stats().Ratio, 2)
	tune(t, th, func(u *throttle.Tuning) { u.Ratio = 4 })
	equal(t, "Ratio", th.Stats().Ratio, 4)
}

func TestARatioIsInForceForTheNextCall(t *testing.T) {
	th := build(t, throttle.Config{Rand: unlucky})
	times(10, th, throttle.High, nil)
	times(5, th, throttle.High, errBusy)
	for _, ratio := range []float64{1000, 1.01, 1000, 1.01} {
		tune(t, th, func(u *throttle.Tuning) { u.Ratio = ratio })
		equal(t, "the function ran", ran(th, throttle.High, nil), ratio > 2)
	}
}

func TestAHigherMinimumRateLowersTheProbabilityAtOnce(t *testing.T) {
	th := shedding(t, throttle.Config{MinimumRate: 1, Window: time.Minute})
	requests := float64(tier(th, throttle.High).Window.Requests())
	equal(t, "probability", th.RejectionProbability(throttle.High), requests/(requests+60))
	tune(t, th, func(u *throttle.Tuning) { u.MinimumRate = 10 })
	equal(t, "probability at a higher rate", th.RejectionProbability(throttle.High), requests/(requests+600))
}

func TestNoChangeIsLostWhileManyTuneAndCall(t *testing.T) {
	const tuners = 64
	changes := sized(50, 10)
	th := build(t, throttle.Config{Ratio: 2})
	var wg sync.WaitGroup
	for i := range tuners {
		wg.Go(func() {
			for range changes {
				tune(t, th, func(u *throttle.Tuning) { u.Ratio++; u.MinimumRate++ })
				if err := th.Tune(func(u *throttle.Tuning) { u.Ratio = math.NaN() }); err == nil {
					t.Error("Tune to NaN: got no error")
				}
				s := th.Stats()
				equal(t, "Ratio moves with MinimumRate", s.Ratio, s.MinimumRate+1)
				times(2, th, throttle.Priority(i%4), []error{nil, errBusy}[i%2])
			}
		})
	}
	wg.Wait()
	equal(t, "Ratio", th.Stats().Ratio, float64(2+tuners*changes))
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
		tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.ModeOff })
		tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.ModeEnforce })
	}
	tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.ModeOff })
	for range 100 {
		equal(t, "Do in Off", th.Do(context.Background(), throttle.High, returns(errBusy)), errBusy)
	}
	tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.ModeEnforce })
	close(stop)
	wg.Wait()
	err := th.Do(context.Background(), throttle.High, returns(errBusy))
	equal(t, "sheds in Enforce", errors.Is(err, throttle.ErrShed), true)
}

func TestATuningKeptAfterTuneIsNotInForce(t *testing.T) {
	th := build(t, throttle.Config{})
	var kept *throttle.Tuning
	tune(t, th, func(u *throttle.Tuning) { kept = u })
	kept.Ratio = math.NaN()
	equal(t, "Ratio", th.Stats().Ratio, 2)
}

// TestOverride_isAboveTheCode until it ends. Group.Tune and Tune change what is below it.
func TestOverride_isAboveTheCode(t *testing.T) {
	g, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{Created: func(th *throttle.Throttle) {
			if err := th.Override(func(u *throttle.Tuning) { u.Mode = throttle.ModeOff }); err != nil {
				t.Error(err)
			}
		}}}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Tune(func(u *throttle.Tuning) { u.Mode, u.Ratio = throttle.ModeShadow, 5 }); err != nil {
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
	if err := th.Override(nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the override", th.Stats().Mode, throttle.ModeShadow)
}

// TestOverride_refusesInvalid values, and a throttle that does not come from New.
func TestOverride_refusesInvalid(t *testing.T) {
	th, wrong := build(t, throttle.Config{}), func(u *throttle.Tuning) { u.Ratio = 0.5 }
	for _, err := range []error{th.Override(wrong), th.CheckOverride(wrong)} {
		if err == nil || !strings.Contains(err.Error(), "throttle: Tuning.Ratio is 0.5: want more than 1, at most 1e6") {
			t.Errorf("got %v", err)
		}
	}
	var none *throttle.Throttle
	now, code := none.Tuning()
	if none.Override(nil) == nil || none.CheckOverride(nil) == nil || now != code {
		t.Error("a nil throttle: got no error")
	}
}
