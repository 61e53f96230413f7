package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestTheFallbackServesACallThatFailed has the error of the function, and that of the fallback.
func TestTheFallbackServesACallThatFailed(t *testing.T) {
	wrapped := fmt.Errorf("load: %w", errPlain)
	markInside := fmt.Errorf("load: %w", throttle.MarkRejected(errPlain))
	markAlone := throttle.MarkRejected(errPlain)
	joined := errors.Join(io.EOF, markAlone)
	none, other, busy, canceled := throttle.FaultNone, throttle.FaultOther, throttle.FaultAvailability, throttle.FaultCanceled
	for name, c := range map[string]struct {
		err, seen      error // of the function
		outcome        throttle.Outcome
		fault          throttle.Fault
		returned, left error // by the fallback, and by Do
		fallback       throttle.Fault
	}{
		"ordinary":          {errPlain, errPlain, throttle.Accepted, other, nil, nil, none},
		"wrapped":           {wrapped, wrapped, throttle.Accepted, other, io.EOF, io.EOF, other},
		"busy":              {errBusy, errBusy, throttle.Rejected, busy, nil, nil, none},
		"canceled":          {context.Canceled, context.Canceled, throttle.Ignored, canceled, errBusy, errBusy, busy},
		"marked":            {throttle.MarkRejected(wrapped), wrapped, throttle.Rejected, other, nil, nil, none},
		"mark of a mark":    {throttle.MarkRejected(markAlone), markAlone, throttle.Rejected, other, nil, nil, none},
		"mark in a join":    {joined, joined, throttle.Rejected, other, nil, nil, none},
		"mark inside":       {markInside, markInside, throttle.Rejected, other, nil, nil, none},
		"fallback marks":    {errPlain, errPlain, throttle.Accepted, other, throttle.MarkRejected(io.EOF), io.EOF, other},
		"its inner stays":   {errPlain, errPlain, throttle.Accepted, other, markInside, markInside, other},
		"fn's error passed": {errPlain, errPlain, throttle.Accepted, other, errPlain, errPlain, other},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			fallback := func(_ context.Context, err error, local bool) error {
				equal(t, "error that the fallback sees", err, c.seen)
				equal(t, "local", local, false)
				return c.returned
			}
			equal(t, "Do", th.Do(context.Background(), throttle.High, returns(c.err), fallback), c.left)
			fn := valued("half an answer", c.err)
			value, err := throttle.Do(context.Background(), build(t, throttle.Config{}), throttle.High, fn, nil)
			equal(t, "without a fallback: value", value, "half an answer")
			equal(t, "without a fallback: error", err, c.seen)
			value, err = throttle.Do(context.Background(), th, throttle.High, fn,
				func(ctx context.Context, err error, local bool) (string, error) {
					return "best sellers", fallback(ctx, err, local)
				})
			equal(t, "Do[T]: value", value, "best sellers")
			equal(t, "Do[T]: error", err, c.left)
			w.want(t, "started", "fell back", "finished", "started", "fell back", "finished")
			for i := range w.finished {
				w.finished[i].Duration = 0
				equal(t, "what FellBack receives", w.fellBack[i],
					throttle.FallbackEvent{Throttle: th, Priority: throttle.High, Outcome: c.outcome, Err: c.left})
				equal(t, "what Finished receives", w.finished[i], throttle.FinishEvent{
					Throttle: th, Priority: throttle.High, Outcome: c.outcome, Fault: c.fault, Err: c.left, FellBack: true,
				})
			}
			wantAdmitted(t, th, throttle.High, 2, c.outcome, c.fault)
			equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(c.outcome, c.fallback), 2)
		})
	}
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
