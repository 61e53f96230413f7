package throttle_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestOffEndsTheStory: nothing is shed any more, whatever the probability is at which Enforce would shed.
func TestOffEndsTheStory(t *testing.T) {
	for _, c := range []struct {
		mode throttle.Mode
		stop string
	}{
		{throttle.Enforce, "INFO throttle stopped shedding"},
		{throttle.Shadow, "INFO throttle would stop shedding"},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(t, c.mode)
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 1)
				time.Sleep(3*time.Second + time.Second/2)
				l.read()
				setMode(t, l.Throttle, throttle.Off)
				time.Sleep(time.Second)
				l.wantLines(t, c.stop+" throttle=orders priority=high duration=4s shed=1 peak_probability=0.5 faults=[availability=60]")
				if l.RejectionProbability(throttle.High) == 0 {
					t.Error("the probability is 0 as well: this proves nothing")
				}
				l.shed(t, throttle.High, 10)
				time.Sleep(time.Hour)
				l.wantLines(t)
			})
		})
	}
}

// TestAnotherModeIsAnotherStory: from one shed call to the next Shadow becomes Enforce, or Enforce becomes Shadow.
func TestAnotherModeIsAnotherStory(t *testing.T) {
	start := map[throttle.Mode]string{throttle.Enforce: "throttle started to shed", throttle.Shadow: "throttle would start to shed"}
	stop := map[throttle.Mode]string{throttle.Enforce: "throttle stopped shedding", throttle.Shadow: "throttle would stop shedding"}
	for first, then := range map[throttle.Mode]throttle.Mode{throttle.Shadow: throttle.Enforce, throttle.Enforce: throttle.Shadow} {
		t.Run(first.String()+" to "+then.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(t, first)
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 2)
				l.wantLines(t, "WARN "+start[first]+" throttle=orders priority=high probability=0.5 cause=own")
				time.Sleep(time.Second / 2)
				setMode(t, l.Throttle, then)
				l.shed(t, throttle.High, 3)
				l.wantLines(t,
					"INFO "+stop[first]+" throttle=orders priority=high duration=500ms shed=2 peak_probability=0.5 faults=[availability=60]",
					"WARN "+start[then]+" throttle=orders priority=high probability=0.51 cause=own")
				_ = l.Close()
				l.wantLines(t, "INFO "+stop[then]+" throttle=orders priority=high duration=0s shed=3 peak_probability=0.52")
			})
		})
	}
}

// TestTheTimerFindsAnotherMode, if no call is shed after the change that would.
func TestTheTimerFindsAnotherMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Shadow)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1)
		l.read()
		setMode(t, l.Throttle, throttle.Enforce)
		time.Sleep(time.Hour)
		l.wantLines(t,
			"INFO throttle would stop shedding throttle=orders priority=high duration=1s shed=1 peak_probability=0.5 faults=[availability=60]")
	})
}

// TestALateShedOfTheModeBeforeTellsNoStory has the mode changed while a shed call is on its way to LogHooks.
func TestALateShedOfTheModeBeforeTellsNoStory(t *testing.T) {
	for _, c := range []struct {
		name string
		then throttle.Mode
	}{{"to off", throttle.Off}, {"to shadow", throttle.Shadow}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logged{}
				changer := throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) { setMode(t, e.Throttle, c.then) }}
				l.Throttle = build(t, throttle.Config{
					Name: "orders", Rand: l.throw, Hooks: throttle.JoinHooks(changer, throttle.LogHooks(slog.New(&l.logbook))),
				})
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 1)
				l.wantLines(t)
			})
		})
	}
}
