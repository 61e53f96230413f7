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

// What an answer says counts at once. The call goes on.
func TestAnsweredBooksAndGoesOn(t *testing.T) {
	for name, c := range endings() {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			call := admit(t, th, throttle.Medium)
			call.Answered(c.err)
			wantAdmitted(t, th, throttle.Medium, 1, c.outcome, c.fault)
			equal(t, "in flight after Answered", tier(th, throttle.Medium).InFlight, 1)
			equal(t, "admitted", tier(th, throttle.Medium).Admitted, 1)
			w.want(t, "started")
			call.Done(nil)
			wantAdmitted(t, th, throttle.Medium, 1, c.outcome, c.fault)
			equal(t, "in flight after Done", inFlight(th), 0)
			c.wantEnd(t, w, th)
		})
	}
}

// However an answered call ends, it keeps the outcome of its answer; what Finished is told is the error of the end.
func TestTheEndOfAnAnsweredCallChangesNothing(t *testing.T) {
	for name, end := range map[string]struct {
		how  func(throttle.Call)
		told error
	}{
		"Done(nil)":              {func(c throttle.Call) { c.Done(nil) }, errPlain},
		"Done(err)":              {func(c throttle.Call) { c.Done(errBusy) }, errBusy},
		"Done(marked)":           {func(c throttle.Call) { c.Done(throttle.RejectedError(errBusy)) }, errBusy},
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

func TestAnsweredAfterTheEndDoesNothing(t *testing.T) {
	th := build(t, throttle.Config{})
	old := admit(t, th, throttle.High)
	old.Done(nil)
	call := admit(t, th, throttle.High) // may have the memory of the old one
	old.Answered(errBusy)
	equal(t, "in flight", inFlight(th), 1)
	call.Done(nil)
	wantAdmitted(t, th, throttle.High, 2, throttle.Accepted, throttle.FaultNone)
	throttle.Call{}.Answered(errBusy)
}

func TestDurationEndsWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{}
		call := admit(t, build(t, throttle.Config{Hooks: w.hooks()}), throttle.High)
		time.Sleep(time.Second)
		call.Answered(nil)
		time.Sleep(time.Minute)
		call.Done(nil)
		equal(t, "duration", w.finished[0].Duration, time.Second)
	})
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
	tune(t, th, func(u *throttle.Tuning) { u.Mode = throttle.Shadow })
	call := admit(t, th, throttle.High)
	call.Answered(nil)
	equal(t, "calls that would have been shed", tier(th, throttle.High).ShadowShed[throttle.Own].Outcome(throttle.Accepted), 1)
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

// The memory of a call whose answer panicked is used again, like that of any other.
func TestACallWhoseAnswerPanickedEndsNobodyElses(t *testing.T) {
	th := build(t, throttle.Config{Classify: func(context.Context, error) (throttle.Outcome, bool) { panic("an accident") }})
	for range 100 {
		old := admit(t, th, throttle.High)
		func() {
			defer func() { _ = recover() }()
			old.Answered(errPlain)
		}()
		call := admit(t, th, throttle.High)
		old.Done(nil)
		old.Finish(throttle.Rejected)
		equal(t, "in flight", inFlight(th), 1)
		call.Done(nil)
		equal(t, "in flight after Done", inFlight(th), 0)
	}
	equal(t, "accepted", tier(th, throttle.High).Ended.Outcome(throttle.Accepted), 100)
	equal(t, "ignored", tier(th, throttle.High).Ended.Outcome(throttle.Ignored), 100)
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
