package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// emptyError is an error that says to be an availability failure, and gives none.
type emptyError struct{}

func (emptyError) Error() string { return "empty-handed" }

func (emptyError) As(target any) bool { _, ok := target.(**faults.AvailabilityFailure); return ok }

// The errors of calls, with the default classification: how many rejections, and how many of them are
// those of a full backend.
func TestOverloaded(t *testing.T) {
	asksToWait := faults.Unavailable(time.Second)
	for name, c := range map[string]struct {
		err            error
		rejected, full uint64
	}{
		"mark":                         {throttle.MarkOverloaded(errPlain), 1, 1},
		"mark deep":                    {fmt.Errorf("a: %w", errors.Join(io.EOF, throttle.MarkOverloaded(io.EOF))), 1, 1},
		"mark around another":          {throttle.MarkOverloaded(throttle.MarkRejected(errPlain)), 1, 1},
		"mark inside another":          {throttle.MarkRejected(throttle.MarkOverloaded(errPlain)), 1, 1},
		"mark before shed":             {errors.Join(throttle.ErrShed, throttle.MarkOverloaded(errPlain)), 1, 1},
		"quota":                        {faults.ResourceExhausted(), 1, 1},
		"quota in a timeout":           {errors.Join(context.DeadlineExceeded, faults.ResourceExhausted()), 1, 1},
		"asks to wait":                 {asksToWait, 1, 1},
		"asks to wait, wrapped":        {fmt.Errorf("load: %w", asksToWait), 1, 1},
		"asks to wait, by its As":      {chameleon{as: asksToWait}, 1, 1},
		"asks to wait, below the kind": {faults.WithUnavailable(asksToWait, 0), 1, 1},
		"other mark":                   {throttle.MarkRejected(errPlain), 1, 0},
		"unavailable":                  {errBusy, 1, 0},
		"unavailable, by its As":       {chameleon{as: errBusy}, 1, 0},
		"nil fault, by its As":         {emptyError{}, 1, 0},
		"timeout":                      {context.DeadlineExceeded, 1, 0},
		"shed elsewhere":               {errors.Join(throttle.ErrShed, faults.ResourceExhausted()), 0, 0},
		"ordinary":                     {errPlain, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			times(1, th, throttle.Low, c.err)
			low := tier(th, throttle.Low)
			equal(t, "rejected in the window", low.Window.Rejected, c.rejected)
			equal(t, "rejected", low.Ended.Outcome(throttle.Rejected), c.rejected)
			equal(t, "overloaded", low.Overloaded, c.full)
			equal(t, "Overloaded of the event", w.finished[0].Overloaded, c.full == 1)
			equal(t, "of another priority", tier(th, throttle.High).Overloaded, 0)
		})
	}
}

func TestMarks(t *testing.T) {
	for name, mark := range map[string]func(error) error{"rejected": throttle.MarkRejected, "overloaded": throttle.MarkOverloaded} {
		equal(t, name+": mark of nil", mark(nil), nil)
		wrapped := fmt.Errorf("load: %w", &teapot{1})
		marked := mark(wrapped)
		equal(t, name+": text", marked.Error(), wrapped.Error())
		equal(t, name+": Unwrap", errors.Unwrap(marked), wrapped)
		var inside *teapot
		equal(t, name+": errors.As", errors.As(marked, &inside), true)
		th := build(t, throttle.Config{})
		equal(t, name+": error of Do", th.Do(t.Context(), throttle.High, returns(marked)), wrapped)
	}
}

// The calls of ModeShadow that would have been shed are not in the window, nor in the total.
func TestOverloaded_shadow(t *testing.T) {
	w := &witness{}
	th := shedding(t, throttle.Config{Hooks: w.hooks()})
	setMode(t, th, throttle.ModeShadow)
	before := tier(th, throttle.High).Overloaded
	w.forget()
	times(1, th, throttle.High, throttle.MarkOverloaded(errPlain))
	equal(t, "shadow", w.finished[0].Shadow, true)
	equal(t, "Overloaded of the event", w.finished[0].Overloaded, true)
	equal(t, "overloaded", tier(th, throttle.High).Overloaded, before)
}
