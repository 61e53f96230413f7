package throttle_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
