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

// admit begins a call.
func admit(t *testing.T, th *throttle.Throttle, p throttle.Priority) throttle.Call {
	t.Helper()
	call, err := th.Admit(context.Background(), p)
	if err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	return call
}

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
		"marked":   {throttle.RejectedError(errPlain), throttle.Rejected, throttle.FaultOther, errPlain},
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

func TestDoneBooksWhatTheErrorSays(t *testing.T) {
	for name, c := range endings() {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			call := admit(t, th, throttle.Medium)
			equal(t, "in flight before Done", tier(th, throttle.Medium).InFlight, 1)
			w.want(t, "started")
			call.Done(c.err)
			equal(t, "in flight after Done", inFlight(th), 0)
			wantAdmitted(t, th, throttle.Medium, 1, c.outcome, c.fault)
			c.wantEnd(t, w, th)
		})
	}
}

func TestDoneAsksTheClassifier(t *testing.T) {
	th := build(t, throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, errPlain) })})
	admit(t, th, throttle.High).Done(errPlain)
	wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultOther)
}

func TestFinishBooksWhatItIsTold(t *testing.T) {
	for told, want := range map[throttle.Outcome]throttle.Outcome{
		throttle.Accepted: throttle.Accepted,
		throttle.Rejected: throttle.Rejected,
		throttle.Ignored:  throttle.Ignored,
		throttle.Shed:     throttle.Ignored,
		99:                throttle.Ignored,
		255:               throttle.Ignored,
	} {
		t.Run(told.String(), func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			admit(t, th, throttle.Low).Finish(told)
			wantAdmitted(t, th, throttle.Low, 1, want, throttle.FaultNone)
			equal(t, "in flight", inFlight(th), 0)
			w.want(t, "started", "finished")
			equal(t, "outcome told", w.finished[0].Outcome, want)
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

// A throttle uses the memory of an ended call for the next one. Whoever ends his call twice must not end that one.
func TestASecondDoneDoesNotEndSomebodyElsesCall(t *testing.T) {
	th := build(t, throttle.Config{})
	var old []throttle.Call
	for range 100 {
		call := admit(t, th, throttle.High)
		for _, o := range old {
			o.Done(errBusy)
			o.Finish(throttle.Rejected)
		}
		equal(t, "in flight", inFlight(th), 1)
		call.Done(nil)
		old = append(old, call)
	}
	wantAdmitted(t, th, throttle.High, 100, throttle.Accepted, throttle.FaultNone)
}

func TestACallInheritsNothingFromTheOneBeforeIt(t *testing.T) {
	th := shedding(t, throttle.Config{})
	tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.Shadow })
	for range 20 { // the memory is not used again every time
		admit(t, th, throttle.High).Done(nil) // in Shadow: it would have been shed
		admit(t, th, throttle.Low).Done(nil)
	}
	equal(t, "High calls that would have been shed", tier(th, throttle.High).ShadowShed[throttle.Own].Sum(), 20)
	wantAdmitted(t, th, throttle.Low, 20, throttle.Accepted, throttle.FaultNone)
}

func TestOfManyDonesOneCounts(t *testing.T) {
	th := build(t, throttle.Config{})
	for range 200 {
		call := admit(t, th, throttle.High)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { call.Done(nil) })
		}
		wg.Wait()
	}
	wantAdmitted(t, th, throttle.High, 200, throttle.Accepted, throttle.FaultNone)
	equal(t, "in flight", inFlight(th), 0)
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

func TestACallInFlightAtCloseIsToldToItsEnd(t *testing.T) {
	w := &witness{}
	th := build(t, throttle.Config{Hooks: w.hooks()})
	before := admit(t, th, throttle.High)
	equal(t, "Close", th.Close(), nil)
	after := admit(t, th, throttle.High)
	w.want(t, "started")
	before.Done(errBusy)
	after.Done(errBusy)
	w.want(t, "started", "finished")
	wantAdmitted(t, th, throttle.High, 2, throttle.Rejected, throttle.FaultAvailability)
}

func TestACallMayEndOnAnotherGoroutine(t *testing.T) {
	th := build(t, throttle.Config{})
	calls := make(chan throttle.Call)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for call := range calls {
				call.Done(nil)
			}
		})
	}
	for range 1000 {
		calls <- admit(t, th, throttle.Medium)
	}
	close(calls)
	wg.Wait()
	wantAdmitted(t, th, throttle.Medium, 1000, throttle.Accepted, throttle.FaultNone)
	equal(t, "in flight", inFlight(th), 0)
}

func TestTheDurationOfACallIsFromAdmitToDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		th := build(t, throttle.Config{Hooks: w.hooks()})
		call := admit(t, th, throttle.High)
		time.Sleep(42 * time.Second)
		call.Done(nil)
		equal(t, "duration", w.finished[0].Duration, 42*time.Second)
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
	equal(t, "shed", after.Shed[throttle.Own], before.Shed[throttle.Own]+1)
	equal(t, "admitted", after.Ended, before.Ended)
	w.want(t, "shed")
}

func TestAdmitTreatsPrioritiesAsDoDoes(t *testing.T) {
	th := build(t, throttle.Config{})
	call, err := th.Admit(throttle.WithPriority(context.Background(), throttle.Medium), throttle.High)
	equal(t, "Admit, priority in the context", err, nil)
	call.Done(nil)
	wantAdmitted(t, th, throttle.Medium, 1, throttle.Accepted, throttle.FaultNone)

	admit(t, th, 77).Done(nil)
	wantAdmitted(t, th, throttle.Low, 1, throttle.Accepted, throttle.FaultNone)
	equal(t, "clamped", tier(th, throttle.Low).Clamped, 1)

	strict := build(t, throttle.Config{InvalidPriority: throttle.RejectPriority})
	call, err = strict.Admit(context.Background(), 77)
	if err == nil || errors.Is(err, throttle.ErrShed) {
		t.Errorf("Admit, priority refused: got error %v want one that is not ErrShed", err)
	}
	equal(t, "Call", call, throttle.Call{})
}
