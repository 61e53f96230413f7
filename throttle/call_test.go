package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// ending is an error with which a call may end, what the throttle makes of it, and what Finished is told.
type ending struct {
	err     error
	outcome throttle.Outcome
	fault   throttle.Fault
	told    error
}

func endings() map[string]ending {
	return map[string]ending{
		"nil":      {nil, throttle.Accepted, throttle.FaultNone, nil},
		"ordinary": {errPlain, throttle.Accepted, throttle.FaultOther, errPlain},
		"busy":     {errBusy, throttle.Rejected, throttle.FaultAvailability, errBusy},
		"canceled": {context.Canceled, throttle.Ignored, throttle.FaultCanceled, context.Canceled},
		"marked":   {throttle.MarkRejected(errPlain), throttle.Rejected, throttle.FaultOther, errPlain},
		"panicked": {throttle.ErrPanicked, throttle.Ignored, throttle.FaultPanic, throttle.ErrPanicked},
	}
}

// wantEnd fails the test unless Finished was told once, of this ending.
func (e ending) wantEnd(t *testing.T, w *witness, th *throttle.Throttle) {
	t.Helper()
	w.want(t, "started", "finished")
	end := w.finished[0]
	end.Duration = 0
	equal(t, "what Finished is told", end, throttle.FinishEvent{
		Throttle: th, Priority: throttle.Medium, Outcome: e.outcome, Fault: e.fault, Err: e.told,
	})
}

func TestDoneAndAnsweredBookWhatTheErrorSays(t *testing.T) {
	for name, c := range endings() {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answered %v", name, answered), func(t *testing.T) {
				w := &witness{}
				th := build(t, throttle.Config{Hooks: w.hooks()})
				call := admit(t, th, throttle.Medium)
				equal(t, "in flight", tier(th, throttle.Medium).InFlight, 1)
				if answered {
					call.Answered(c.err)
					wantAdmitted(t, th, throttle.Medium, 1, c.outcome, c.fault)
					equal(t, "in flight after Answered", tier(th, throttle.Medium).InFlight, 1)
					w.want(t, "started")
					call.Done(nil)
				} else {
					call.Done(c.err)
				}
				equal(t, "in flight after Done", inFlight(th), 0)
				equal(t, "admitted", tier(th, throttle.Medium).Admitted, 1)
				wantAdmitted(t, th, throttle.Medium, 1, c.outcome, c.fault)
				c.wantEnd(t, w, th)
			})
		}
	}
}

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

func TestACallEndsOnce(t *testing.T) {
	done := func(c throttle.Call) { c.Done(errBusy) }
	finish := func(c throttle.Call) { c.Finish(throttle.Rejected) }
	for name, ends := range map[string][2]func(throttle.Call){
		"Done, Done":     {done, done},
		"Done, Finish":   {done, finish},
		"Finish, Done":   {finish, done},
		"Finish, Finish": {finish, finish},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			call := admit(t, th, throttle.High)
			other := call
			ends[0](call)
			ends[1](call)
			ends[1](other)
			equal(t, "ended calls", tier(th, throttle.High).Ended.Sum(), 1)
			equal(t, "in flight", inFlight(th), 0)
			w.want(t, "started", "finished")
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
		admit(t, th, throttle.High).Done(nil) // in Shadow: it would have been shed
		admit(t, th, throttle.Low).Done(nil)
	}
	equal(t, "High calls that would have been shed", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn).Sum(), 20)
	wantAdmitted(t, th, throttle.Low, 20, throttle.Accepted, throttle.FaultNone)
}

func TestACallThatIsNeverDoneStaysInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{})
		admit(t, th, throttle.Important)
		time.Sleep(2 * time.Hour)
		got := tier(th, throttle.Important)
		equal(t, "in flight", got.InFlight, 1)
		equal(t, "ended", got.Ended.Sum(), 0)
		equal(t, "window", got.Window, throttle.WindowStats{})
		equal(t, "Do beside it", th.Do(t.Context(), throttle.Important, returns(nil)), nil)
	})
}

func TestTheZeroCallDoesNothing(t *testing.T) {
	var call throttle.Call
	call.Done(errBusy)
	call.Done(nil)
	call.Finish(throttle.Accepted)
	call.Answered(errBusy)
	equal(t, "Context", call.Context(), context.Background())
}

func TestTheCallHasTheContextOfItsStart(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "mine")
	call, err := build(t, throttle.Config{}).Admit(ctx, throttle.High)
	equal(t, "Admit", err, nil)
	equal(t, "Context without hooks", call.Context(), ctx)

	call, err = build(t, throttle.Config{Hooks: throttle.Hooks{
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, key{}, "the hook's")
		},
		Finished: func(ctx context.Context, _ throttle.FinishEvent) {
			equal(t, "value that Finished gets", ctx.Value(key{}), any("the hook's"))
		},
	}}).Admit(ctx, throttle.High)
	equal(t, "Admit", err, nil)
	equal(t, "value that the hook put in", call.Context().Value(key{}), any("the hook's"))
	call.Done(nil)
	equal(t, "value after Done", call.Context().Value(key{}), any("the hook's"))
}

func TestTheDurationOfACallEndsWithItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for end, c := range map[string]struct {
			end  func(throttle.Call)
			want time.Duration
		}{
			"Answered": {func(c throttle.Call) { c.Answered(nil) }, 3 * time.Second},
			"Done":     {func(c throttle.Call) { c.Done(nil) }, 3 * time.Second},
			"Finish":   {func(c throttle.Call) { c.Finish(throttle.Rejected) }, 3 * time.Second},
			"nothing":  {func(throttle.Call) {}, time.Minute + 3*time.Second},
		} {
			w := &witness{}
			call := admit(t, build(t, throttle.Config{Hooks: w.hooks()}), throttle.High)
			time.Sleep(3 * time.Second)
			c.end(call)
			time.Sleep(time.Minute)
			call.Done(nil)
			equal(t, "duration, ended by "+end, w.finished[0].Duration, c.want)
		}
	})
}

func TestAShedCallIsTheZeroCall(t *testing.T) {
	w := &witness{}
	th := shedding(t, throttle.Config{Hooks: w.hooks()})
	before := tier(th, throttle.High)
	w.forget()
	call, err := th.Admit(context.Background(), throttle.High)
	equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
	equal(t, "Call", call, throttle.Call{})
	call.Done(nil)
	after := tier(th, throttle.High)
	equal(t, "shed", after.Shed.Count(throttle.CauseOwn), before.Shed.Count(throttle.CauseOwn)+1)
	equal(t, "admitted", after.Ended, before.Ended)
	w.want(t, "shed")
}

// However an answered call ends, it keeps the outcome of its answer; what Finished is told is the error of the end.
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
			end.how(call)
			wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultOther)
			equal(t, "in flight", inFlight(th), 0)
			w.want(t, "started", "finished")
			equal(t, "error told", w.finished[0].Err, end.told)
		})
	}
}

// The next decisions know what was answered, though its call has not ended.
func TestAnswersAreKnownToTheNextDecision(t *testing.T) {
	th := build(t, throttle.Config{})
	var open []throttle.Call
	for range 1000 {
		call, err := th.Admit(t.Context(), throttle.High)
		if err == nil {
			call.Answered(errBusy)
			open = append(open, call)
		}
	}
	if p := th.RejectionProbability(throttle.High); p < 0.5 {
		t.Errorf("probability: got %v want more than 0.5", p)
	}
	equal(t, "in flight", inFlight(th), int64(len(open)))
	for _, call := range open {
		call.Done(nil)
	}
	equal(t, "in flight after all", inFlight(th), 0)
}

func TestAnsweredInShadow(t *testing.T) {
	th := shedding(t, throttle.Config{})
	tune(t, th, throttle.Patch{Mode: new(throttle.ModeShadow)})
	call := admit(t, th, throttle.High)
	call.Answered(nil)
	equal(t, "calls that would have been shed", tier(th, throttle.High).ShadowShed.Cause(throttle.CauseOwn).Outcome(throttle.Accepted), 1)
	equal(t, "in flight", tier(th, throttle.High).InFlight, 1)
	call.Done(nil)
	equal(t, "in flight after Done", inFlight(th), 0)
}

// A classifier that panics while a call is answered ends the call.
func TestAnsweredWithAClassifierThatPanics(t *testing.T) {
	w := &witness{}
	th := build(t, throttle.Config{Hooks: w.hooks(), Classify: func(context.Context, error) (throttle.Outcome, bool) { panic("an accident") }})
	call := admit(t, th, throttle.Low)
	func() {
		defer func() { equal(t, "panic", recover(), any("an accident")) }()
		call.Answered(errPlain)
	}()
	wantAdmitted(t, th, throttle.Low, 1, throttle.Ignored, throttle.FaultPanic)
	equal(t, "in flight", inFlight(th), 0)
	w.want(t, "started", "finished")
	call.Done(nil)
	w.want(t, "started", "finished")
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

// Answered, Done and Finish may meet in any order: the call is counted once, and ends once.
func TestAnsweredAmongManyEnds(t *testing.T) {
	var mu sync.Mutex
	finished := 0
	th := build(t, throttle.Config{Hooks: throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {
		mu.Lock()
		defer mu.Unlock()
		finished++
	}}})
	const rounds = 500
	for range rounds {
		call := admit(t, th, throttle.High)
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { call.Answered(nil) }, func() { call.Answered(errors.New("no answer")) },
			func() { call.Done(nil) }, func() { call.Finish(throttle.Accepted) },
		} {
			wg.Go(f)
		}
		wg.Wait()
	}
	equal(t, "calls", tier(th, throttle.High).Ended.Sum(), rounds)
	equal(t, "finished", finished, rounds)
	equal(t, "in flight", inFlight(th), 0)
}
