package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

func TestTheFallbackServesAShedCall(t *testing.T) {
	w := &witness{}
	th := shedding(t, throttle.Config{Hooks: w.hooks()})
	before := tier(th, throttle.High)
	w.forget()

	err := th.Do(context.Background(), throttle.High, unwanted(t), func(_ context.Context, err error, local bool) error {
		equal(t, "local", local, true)
		equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
		return nil
	})
	equal(t, "Do", err, nil)
	w.want(t, "shed", "fell back")
	equal(t, "what the hook is told", w.fellBack[0], throttle.FallbackEvent{
		Throttle: th, Priority: throttle.High, Outcome: throttle.Shed,
	})

	value, err := throttle.Do(context.Background(), th, throttle.High, valued("served", nil),
		func(context.Context, error, bool) (string, error) { return "best sellers", nil })
	equal(t, "Do[T]: value", value, "best sellers")
	equal(t, "Do[T]: error", err, nil)

	after := tier(th, throttle.High)
	equal(t, "fallbacks of shed calls", after.Fallbacks.Count(throttle.Shed, throttle.FaultNone), 2)
	equal(t, "fallbacks in all", after.Fallbacks.Sum(), 2)
	equal(t, "shed", after.Shed.Count(throttle.CauseOwn), before.Shed.Count(throttle.CauseOwn)+2)
	equal(t, "a fallback adds nothing to the admitted calls", after.Ended, before.Ended)
}

func TestTheFallbackServesACallThatFailed(t *testing.T) {
	wrapped := fmt.Errorf("load: %w", errPlain)
	markInside := fmt.Errorf("load: %w", throttle.MarkRejected(errPlain))
	for name, c := range map[string]struct {
		returned, seen error
		outcome        throttle.Outcome
		fault          throttle.Fault
	}{
		"ordinary":    {errPlain, errPlain, throttle.Accepted, throttle.FaultOther},
		"wrapped":     {wrapped, wrapped, throttle.Accepted, throttle.FaultOther},
		"busy":        {errBusy, errBusy, throttle.Rejected, throttle.FaultAvailability},
		"canceled":    {context.Canceled, context.Canceled, throttle.Ignored, throttle.FaultCanceled},
		"marked":      {throttle.MarkRejected(wrapped), wrapped, throttle.Rejected, throttle.FaultOther},
		"mark inside": {markInside, markInside, throttle.Rejected, throttle.FaultOther},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			err := th.Do(context.Background(), throttle.High, returns(c.returned), func(_ context.Context, err error, local bool) error {
				equal(t, "error that the fallback sees", err, c.seen)
				equal(t, "local", local, false)
				return nil
			})
			equal(t, "Do", err, nil)
			w.want(t, "started", "fell back", "finished")
			equal(t, "what FellBack is told", w.fellBack[0],
				throttle.FallbackEvent{Throttle: th, Priority: throttle.High, Outcome: c.outcome})
			end := w.finished[0]
			equal(t, "what Finished is told: outcome", end.Outcome, c.outcome)
			equal(t, "what Finished is told: fault", end.Fault, c.fault)
			equal(t, "what Finished is told: error", end.Err, nil)
			equal(t, "what Finished is told: fell back", end.FellBack, true)
			wantAdmitted(t, th, throttle.High, 1, c.outcome, c.fault)
			equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(c.outcome, throttle.FaultNone), 1)
		})
	}
}

func TestTheFallbackOfAValueReplacesValueAndError(t *testing.T) {
	value, err := throttle.Do(context.Background(), build(t, throttle.Config{}), throttle.High, valued("half an answer", io.EOF),
		func(_ context.Context, err error, local bool) (string, error) {
			equal(t, "error that the fallback sees", err, io.EOF)
			equal(t, "local", local, false)
			return "best sellers", errPlain
		})
	equal(t, "value", value, "best sellers")
	equal(t, "error", err, errPlain)
}

func TestTheFallbackDoesNotRunForACallThatWentWell(t *testing.T) {
	th := build(t, throttle.Config{})
	err := th.Do(context.Background(), throttle.High, returns(nil), unwantedFallback(t))
	equal(t, "Do", err, nil)
	equal(t, "MarkRejected(nil) is no error",
		th.Do(context.Background(), throttle.High, returns(throttle.MarkRejected(nil)), unwantedFallback(t)), nil)
	wantAdmitted(t, th, throttle.High, 2, throttle.Accepted, throttle.FaultNone)
}

func TestOnlyTheFirstFallbackRuns(t *testing.T) {
	th := build(t, throttle.Config{})
	err := th.Do(context.Background(), throttle.High, returns(errPlain),
		func(context.Context, error, bool) error { return io.EOF }, unwantedFallback(t))
	equal(t, "Do", err, io.EOF)
	equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Sum(), 1)
}

func TestANilFallbackIsNone(t *testing.T) {
	w := &witness{}
	th := build(t, throttle.Config{Hooks: w.hooks()})
	equal(t, "Do", th.Do(context.Background(), throttle.High, returns(errPlain), nil), errPlain)
	value, err := throttle.Do(context.Background(), th, throttle.High, valued(3, errPlain), nil)
	equal(t, "Do[T]: value", value, 3)
	equal(t, "Do[T]: error", err, errPlain)
	w.want(t, "started", "finished", "started", "finished")
	equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Sum(), 0)
}

func TestTheFallbacksOwnErrorLeavesTheCall(t *testing.T) {
	quota := faults.ResourceExhausted()
	markInside := fmt.Errorf("cache: %w", throttle.MarkRejected(io.EOF))
	for name, c := range map[string]struct {
		returned, want error
		fault          throttle.Fault
	}{
		"ordinary":         {io.EOF, io.EOF, throttle.FaultOther},
		"busy itself":      {quota, quota, throttle.FaultQuota},
		"its mark is off":  {throttle.MarkRejected(io.EOF), io.EOF, throttle.FaultOther},
		"its inner stays":  {markInside, markInside, throttle.FaultOther},
		"fn's once more":   {errPlain, errPlain, throttle.FaultOther},
		"its deadline hit": {context.DeadlineExceeded, context.DeadlineExceeded, throttle.FaultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			err := th.Do(context.Background(), throttle.High, returns(errPlain),
				func(context.Context, error, bool) error { return c.returned })
			equal(t, "Do", err, c.want)
			equal(t, "what FellBack is told", w.fellBack[0].Err, c.want)
			equal(t, "what Finished is told", w.finished[0].Err, c.want)
			equal(t, "fallbacks that failed this way", tier(th, throttle.High).Fallbacks.Count(throttle.Accepted, c.fault), 1)
			wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultOther)
		})
	}
}

func TestACallThatWasNotMadeHasNoFallback(t *testing.T) {
	th := build(t, throttle.Config{InvalidPriority: throttle.RejectPriority})
	err := th.Do(context.Background(), 4, unwanted(t), unwantedFallback(t))
	if err == nil || errors.Is(err, throttle.ErrShed) {
		t.Errorf("priority out of range: got error %v want one that is not ErrShed", err)
	}
	_, err = throttle.Do(context.Background(), th, -1, valued(1, nil), func(ctx context.Context, err error, local bool) (int, error) {
		return 2, unwantedFallback(t)(ctx, err, local)
	})
	if err == nil || errors.Is(err, throttle.ErrShed) {
		t.Errorf("priority out of range: got error %v want one that is not ErrShed", err)
	}
	for _, p := range th.Stats().Priorities {
		equal(t, fmt.Sprintf("calls of %v priority", p.Priority), p.Ended.Sum()+p.Fallbacks.Sum()+p.Clamped, 0)
	}
}
