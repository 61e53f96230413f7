package throttle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestFinishBooksWhatItIsTold(t *testing.T) {
	for told, want := range map[throttle.Outcome]throttle.Outcome{
		throttle.Accepted: throttle.Accepted,
		throttle.Rejected: throttle.Rejected,
		throttle.Ignored:  throttle.Ignored,
		throttle.Shed:     throttle.Ignored,

		throttle.Overloaded: throttle.Rejected,
		99:                  throttle.Ignored,
		255:                 throttle.Ignored,
	} {
		t.Run(told.String(), func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			admit(t, th, throttle.Low).Finish(told)
			wantAdmitted(t, th, throttle.Low, 1, want, throttle.FaultNone)
			equal(t, "in flight", inFlight(th), 0)
			w.want(t, "started", "finished")
			equal(t, "outcome told", w.finished[0].Outcome, want)
			equal(t, "Overloaded of the event", w.finished[0].Overloaded, told == throttle.Overloaded)
			equal(t, "overloaded", tier(th, throttle.Low).Overloaded, count(told == throttle.Overloaded))
			equal(t, "error told", w.finished[0].Err, nil)
		})
	}
}

// TestAnEndedCallDoesNothingToTheNextOne, which may have its memory, also if a classifier has
// panicked over its answer.
func TestAnEndedCallDoesNothingToTheNextOne(t *testing.T) {
	th := build(t, throttle.Config{Classify: func(_ context.Context, err error) (throttle.Outcome, bool) {
		if errors.Is(err, errPlain) {
			panic("an accident")
		}
		return 0, false
	}})
	var old []throttle.Call
	for i := range 100 {
		call := admit(t, th, throttle.High)
		for _, o := range old {
			o.Done(errBusy)
			o.Finish(throttle.Rejected)
			o.Answered(errBusy)
		}
		equal(t, "in flight", inFlight(th), 1)
		if i%2 == 0 {
			call.Done(nil)
		} else {
			_ = survive(func() { call.Answered(errPlain) })
		}
		old = append(old, call)
	}
	equal(t, "accepted", tier(th, throttle.High).Ended.Outcome(throttle.Accepted), 50)
	equal(t, "ignored", tier(th, throttle.High).Ended.Outcome(throttle.Ignored), 50)
}

func TestACallInheritsNothingFromTheOneBeforeIt(t *testing.T) {
	th := shedding(t, throttle.Config{})
	tune(t, th, throttle.Patch{Mode: new(throttle.ModeShadow)})
	for range 20 { // the memory is not used again every time
		call := admit(t, th, throttle.High) // in Shadow: it would have been shed
		call.Answered(nil)
		call.Done(nil)
		admit(t, th, throttle.Low).Done(nil)
	}
	equal(t, "High calls that would have been shed", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn).Sum(), 20)
	wantAdmitted(t, th, throttle.Low, 20, throttle.Accepted, throttle.FaultNone)
}

// TestTheDurationOfACallEndsWithItsOutcome, and is that of the function: without the hook before it and the classifier after it.
func TestTheDurationOfACallEndsWithItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for end, c := range map[string]struct {
			end  func(throttle.Call)
			want time.Duration
		}{
			"Answered": {func(c throttle.Call) { c.Answered(errPlain) }, 3 * time.Second},
			"Done":     {func(c throttle.Call) { c.Done(errPlain) }, 3 * time.Second},
			"Finish":   {func(c throttle.Call) { c.Finish(throttle.Rejected) }, 3 * time.Second},
			"nothing":  {func(throttle.Call) {}, time.Minute + 3*time.Second},
		} {
			w := &witness{}
			slow := throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
				time.Sleep(5 * time.Second)
				return ctx
			}}
			call := admit(t, build(t, throttle.Config{
				Classify: func(context.Context, error) (throttle.Outcome, bool) { time.Sleep(7 * time.Second); return 0, false },
				Hooks:    throttle.JoinHooks(slow, w.hooks()),
			}), throttle.High)
			time.Sleep(3 * time.Second)
			c.end(call)
			time.Sleep(time.Minute)
			call.Done(nil)
			equal(t, "duration, ended by "+end, w.finished[0].Duration, c.want)
		}
	})
}

// However an answered call ends, it keeps the outcome of its answer; Finished receives the error of the end.
func TestTheEndOfAnAnsweredCallChangesNothing(t *testing.T) {
	for name, end := range map[string]struct {
		how  func(throttle.Call)
		told error
	}{
		"Done(nil)":              {func(c throttle.Call) { c.Done(nil) }, errPlain},
		"Done(err)":              {func(c throttle.Call) { c.Done(errBusy) }, errBusy},
		"Done(marked)":           {func(c throttle.Call) { c.Done(throttle.MarkRejected(errBusy)) }, errBusy},
		"Finish":                 {func(c throttle.Call) { c.Finish(throttle.Rejected) }, errPlain},
		"Answered again, Done":   {func(c throttle.Call) { c.Answered(errBusy); c.Done(nil) }, errPlain},
		"Done, Answered":         {func(c throttle.Call) { c.Done(nil); c.Answered(errBusy) }, errPlain},
		"Done, Done, and Finish": {func(c throttle.Call) { c.Done(nil); c.Done(errBusy); c.Finish(throttle.Ignored) }, errPlain},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			call := admit(t, th, throttle.High)
			call.Answered(errPlain)
			wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultOther)
			equal(t, "in flight after Answered", tier(th, throttle.High).InFlight, 1)
			w.want(t, "started")
			end.how(call)
			wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultOther)
			equal(t, "in flight", inFlight(th), 0)
			w.want(t, "started", "finished")
			equal(t, "error told", w.finished[0].Err, end.told)
		})
	}
}

// A classifier may end the call that it judges: the end comes after it.
func TestACallThatEndsWhileItIsAnswered(t *testing.T) {
	w := &witness{}
	var call throttle.Call
	th := build(t, throttle.Config{Hooks: w.hooks(), Classify: func(context.Context, error) (throttle.Outcome, bool) {
		call.Done(errBusy)
		w.want(t, "started")
		return throttle.Rejected, true
	}})
	call = admit(t, th, throttle.Low)
	call.Answered(errPlain)
	wantAdmitted(t, th, throttle.Low, 1, throttle.Rejected, throttle.FaultOther)
	equal(t, "in flight", inFlight(th), 0)
	w.want(t, "started", "finished")
}

// Responding, Answered, Done and Finish may meet in any order: the call is counted once, ends once, and is not open any more.
func TestAnsweredAmongManyEnds(t *testing.T) {
	var mu sync.Mutex
	finished := 0
	th := build(t, throttle.Config{Slow: time.Hour, Hooks: throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {
		mu.Lock()
		defer mu.Unlock()
		finished++
	}}})
	const rounds = 1000
	for range rounds {
		call := admit(t, th, throttle.High)
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { call.Answered(nil) }, func() { call.Answered(errors.New("no answer")) },
			func() { call.Done(nil) }, func() { call.Finish(throttle.Accepted) }, call.Responding,
		} {
			wg.Go(f)
		}
		wg.Wait()
	}
	equal(t, "calls", tier(th, throttle.High).Ended.Sum(), rounds)
	equal(t, "finished", finished, rounds)
	equal(t, "open", th.Stats().Slow.Open, 0)
	equal(t, "in flight", inFlight(th), 0)
}
