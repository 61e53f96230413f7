package throttle_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// alarm makes the policy begin an alert.
func alarm(th *throttle.Throttle) {
	times(16, th, throttle.High, errBusy)
	time.Sleep(th.Stats().Window / 60) // in a bubble
	times(16, th, throttle.High, errBusy)
}

func TestPolicyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []throttle.PolicyEvent
		var marks []any
		th := buildTiered(t, throttle.Config{Rand: lucky, Hooks: throttle.Hooks{
			PolicyChanged: func(ctx context.Context, e throttle.PolicyEvent) {
				changes, marks = append(changes, e), append(marks, markOf(ctx))
				equal(t, "state during the hook", th(e).Alert, e.After.Alert)
			},
		}})
		began := time.Now()
		for range 40 {
			_ = th.Do(withMark(t.Context()), throttle.High, returns(errBusy))
		}
		equal(t, "changes", len(changes), 1)
		equal(t, "context", marks[0], "span")
		equal(t, "throttle", changes[0].Throttle, th)
		equal(t, "before", changes[0].Before, throttle.PolicyState{Since: began.UTC().Round(0)})
		equal(t, "after", changes[0].After, throttle.PolicyState{Alert: throttle.RatioAlert, Since: began.UTC().Round(0)})
		setMode(t, th, throttle.ModeOff)
		equal(t, "changes", len(changes), 2)
		equal(t, "after", changes[1].After.Alert, throttle.NoAlert)
		setMode(t, th, throttle.ModeEnforce)
		_ = th.Close()
		alarm(th)
		equal(t, "state", th.Stats().State.Alert, throttle.RatioAlert)
		equal(t, "changes after Close", len(changes), 2)
	})
}

func th(e throttle.PolicyEvent) throttle.PolicyState { return e.Throttle.Stats().State }

// TestPolicyChanged_panic checks the counters if the hook panics at the end of a call, and before
// one.
func TestPolicyChanged_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := 0
		th := buildTiered(t, throttle.Config{Rand: lucky, Hooks: throttle.Hooks{
			PolicyChanged: func(context.Context, throttle.PolicyEvent) { panic("hook") },
		}})
		for range 40 {
			if survive(func() { _ = th.Do(t.Context(), throttle.High, returns(errBusy)) }) != nil {
				panics++
			}
		}
		equal(t, "panics", panics, 1)
		equal(t, "calls in the window", tier(th, throttle.High).Window.Rejected, 40)
		equal(t, "in flight", inFlight(th), 0)
		time.Sleep(time.Minute)
		equal(t, "panic", survive(func() { _ = th.Do(t.Context(), throttle.High, succeed) }), any("hook"))
		equal(t, "in flight", inFlight(th), 0)
		wantUsable(t, th)
	})
}

func TestLogHooks_policyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		l.Throttle = buildTiered(t, throttle.Config{Name: "orders", Rand: lucky, Hooks: throttle.LogHooks(slog.New(&l.logbook))})
		alarm(l.Throttle)
		l.wantLines(t, "INFO throttle detected overload throttle=orders reason=ratio background=0")
		time.Sleep(time.Minute)
		times(1, l.Throttle, throttle.High, nil)
		l.wantLines(t, "INFO throttle detects no more overload throttle=orders reason=ratio duration=1m0.166666426s")
		_ = l.Close()
	})
}
