package throttle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

func TestClosedIsToldOnce(t *testing.T) {
	var told atomic.Int32
	th := build(t, throttle.Config{Hooks: throttle.Hooks{Closed: func(closed *throttle.Throttle) {
		told.Add(1)
		equal(t, "Close inside Closed", closed.Close(), nil)
	}}})
	parallel(64, func(int) { equal(t, "Close", th.Close(), nil) })
	equal(t, "Close again", th.Close(), nil)
	equal(t, "times told", told.Load(), 1)
	equal(t, "Close of no throttle", (*throttle.Throttle)(nil).Close(), nil)
}

func TestCallsInFlightAtCloseAreToldToTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w witness
		th := build(t, throttle.Config{Hooks: w.hooks()})
		call := admit(t, th, throttle.Low)
		w.tear()
		err := th.Do(t.Context(), throttle.High, func(context.Context) error {
			equal(t, "Close", th.Close(), nil)
			return errBusy
		}, func(context.Context, error, bool) error { return errPlain })
		equal(t, "Do", err, errPlain)
		call.Done(nil)
		w.wantLines(t,
			"started high at 0.00", "closed backend", "fell back high rejected: no such product",
			"finished high rejected availability after 0s: no such product, fell back", "finished low accepted none after 0s: <nil>")
	})
}

// TestCallsAfterCloseWorkUntold: the throttle goes on deciding and counting, and calls no hook.
func TestCallsAfterCloseWorkUntold(t *testing.T) {
	for _, mode := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow, throttle.ModeOff} {
		synctest.Test(t, func(t *testing.T) {
			var w witness
			var fate die
			th := build(t, throttle.Config{Mode: mode, Hooks: w.hooks(), Rand: fate.throw})
			_ = th.Close()
			w.tear()
			rejectMany(t, th, throttle.High, 60)
			fate.sheds.Store(true)
			for range 2 {
				_ = th.Do(t.Context(), throttle.High, returns(errPlain), func(context.Context, error, bool) error { return nil })
			}
			admit(t, th, throttle.Low).Done(nil)
			equal(t, "told after Close", len(w.tear()), 0)
			high := tier(th, throttle.High)
			equal(t, "rejected", high.Ended.Outcome(throttle.Rejected), 60)
			equal(t, "fallbacks", high.Fallbacks.Sum(), 2)
			equal(t, "shed", high.Shed.Count(throttle.CauseOwn), 2*count(mode == throttle.ModeEnforce))
			equal(t, "would have been shed", high.ShadowShed.Cause(throttle.CauseOwn).Sum(), 2*count(mode == throttle.ModeShadow))
			equal(t, "accepted", high.Ended.Outcome(throttle.Accepted), 2*count(mode == throttle.ModeOff))
			wantAdmitted(t, th, throttle.Low, 1, throttle.Accepted, throttle.FaultNone)
			equal(t, "in flight", inFlight(th), 0)
		})
	}
}

func TestMust(t *testing.T) {
	th, err := throttle.New(throttle.Config{Name: "orders"})
	equal(t, "Must of a good throttle", throttle.Must(th, err), th)

	_, err = throttle.New(throttle.Config{})
	g := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "hosts"} }, throttle.GroupConfig{}))
	equal(t, "Must of a good group", g.Len(), 0)

	defer func() { equal(t, "Must panics with the error", recover(), any(err)) }()
	throttle.Must(th, err)
	t.Error("got Must returned, want a panic")
}
