package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// emptyError is an error that says to be an availability failure, and gives none.
type emptyError struct{}

func (emptyError) Error() string { return "empty-handed" }

func (emptyError) As(target any) bool { _, ok := target.(**faults.AvailabilityFailure); return ok }

// TestDefaultClassify has errors in others, and rejections of a full backend. FuzzClassification has the errors of every fault.
func TestDefaultClassify(t *testing.T) {
	const (
		accepted, rejected, ignored  = throttle.Accepted, throttle.Rejected, throttle.Ignored
		other                        = throttle.FaultOther
		availability, quota, missing = throttle.FaultAvailability, throttle.FaultQuota, throttle.FaultMissing
		late, canceled, shed         = throttle.FaultTimeout, throttle.FaultCanceled, throttle.FaultShed
	)
	mark, full, asksToWait := throttle.MarkRejected, throttle.MarkOverloaded, faults.Unavailable(time.Second)
	for name, c := range map[string]struct {
		err     error
		outcome throttle.Outcome
		fault   throttle.Fault
	}{
		"full: mark":                         {full(errPlain), rejected, other},
		"full: mark deep":                    {fmt.Errorf("a: %w", errors.Join(io.EOF, full(io.EOF))), rejected, other},
		"full: mark around another":          {full(mark(errPlain)), rejected, other},
		"full: mark inside another":          {mark(full(errPlain)), rejected, other},
		"full: mark before shed":             {errors.Join(throttle.ErrShed, full(errPlain)), rejected, shed},
		"full: quota":                        {faults.ResourceExhausted(&faults.QuotaViolation{Subject: "ann"}), rejected, quota},
		"full: quota in a timeout":           {errors.Join(context.DeadlineExceeded, faults.ResourceExhausted()), rejected, late},
		"full: asks to wait":                 {asksToWait, rejected, availability},
		"full: asks to wait, by its As":      {chameleon{as: asksToWait}, rejected, availability},
		"full: asks to wait, below the kind": {faults.WithUnavailable(asksToWait, 0), rejected, availability},

		"unavailable, by its As":  {chameleon{as: errBusy}, rejected, availability},
		"nil fault, by its As":    {emptyError{}, rejected, availability},
		"nil fault":               {(*faults.AvailabilityFailure)(nil), rejected, availability},
		"shed, beside a quota":    {errors.Join(throttle.ErrShed, faults.ResourceExhausted()), ignored, shed},
		"ETIMEDOUT":               {&os.SyscallError{Syscall: "connect", Err: syscall.ETIMEDOUT}, rejected, late},
		"ECONNREFUSED":            {&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}, accepted, other},
		"a cancelled request":     {&url.Error{Op: "Get", Err: context.Canceled}, ignored, canceled},
		"unavailable wraps":       {faults.WithUnavailable(io.EOF, 0), rejected, availability},
		"the outer kind":          {faults.WithNotFound(faults.Unavailable(0)), rejected, missing},
		"turned around":           {faults.WithUnavailable(faults.NotFound, 0), rejected, availability},
		"join, left to right":     {errors.Join(errPlain, faults.NotFound, faults.Unavailable(0)), rejected, missing},
		"mark before shed":        {errors.Join(throttle.ErrShed, mark(errPlain)), rejected, shed},
		"shed before unavailable": {errors.Join(errBusy, throttle.ErrShed), ignored, availability},
		"deadline before cancel":  {errors.Join(context.Canceled, context.DeadlineExceeded), rejected, canceled},
		"busy before cancel":      {faults.WithUnavailable(context.Canceled, 0), rejected, availability},
	} {
		t.Run(name, func(t *testing.T) {
			var w witness
			th := build(t, throttle.Config{Hooks: w.hooks()})
			times(1, th, throttle.High, c.err)
			wantAdmitted(t, th, throttle.High, 1, c.outcome, c.fault)
			isFull := strings.HasPrefix(name, "full: ")
			equal(t, "overloaded", tier(th, throttle.High).Overloaded, count(isFull))
			equal(t, "Overloaded of the event", w.finished[0].Overloaded, isFull)
			equal(t, "window", tier(th, throttle.High).Window,
				throttle.WindowStats{Accepted: count(c.outcome == accepted), Rejected: count(c.outcome == rejected)})
			equal(t, "Classify, which counts nothing", th.Classify(t.Context(), c.err), c.outcome)
			equal(t, "calls", tier(th, throttle.High).Ended.Sum(), 1)
			for _, err := range []error{
				fmt.Errorf("load: %w", c.err), errors.Join(io.EOF, c.err), fmt.Errorf("%w after %w", io.EOF, c.err),
			} {
				equal(t, "outcome inside another", throttle.DefaultClassify(t.Context(), err), c.outcome)
				equal(t, "fault inside another", throttle.FaultOf(err), c.fault)
			}
			equal(t, "fault with a mark", throttle.FaultOf(mark(c.err)), c.fault)
		})
	}
}

// TestClassifier is asked before the default, but not about nil and marks.
func TestClassifier(t *testing.T) {
	const accepted, rejected, ignored, overloaded = throttle.Accepted, throttle.Rejected, throttle.Ignored, throttle.Overloaded
	say := func(o throttle.Outcome, ok bool) throttle.Classifier {
		return func(context.Context, error) (throttle.Outcome, bool) { return o, ok }
	}
	always := func(error) bool { return true }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	first := throttle.First(
		nil, throttle.AcceptIf(is(io.EOF)), throttle.RejectIf(is(io.EOF)), throttle.OverloadIf(is(io.ErrShortWrite)),
		say(throttle.Shed, true), throttle.IgnoreIf(is(io.ErrNoProgress)),
		throttle.RejectIf(nil), throttle.AcceptIf(nil), throttle.IgnoreIf(nil), throttle.OverloadIf(nil),
	)
	quota := faults.ResourceExhausted()
	for name, c := range map[string]struct {
		classify throttle.Classifier
		err      error
		want     throttle.Outcome
		full     uint64 // rejections of a full backend
	}{
		"nil":                          {nil, errBusy, rejected, 0},
		"accepts what is busy":         {say(accepted, true), errBusy, accepted, 0},
		"ignores what is busy":         {say(ignored, true), errBusy, ignored, 0},
		"rejects what is ordinary":     {say(rejected, true), errPlain, rejected, 0},
		"rejects what is canceled":     {say(rejected, true), context.Canceled, rejected, 0},
		"rejects another's shed":       {say(rejected, true), throttle.ErrShed, rejected, 0},
		"no opinion about busy":        {say(accepted, false), errBusy, rejected, 0},
		"no opinion about ordinary":    {say(overloaded, false), errPlain, accepted, 0},
		"Shed is no opinion":           {say(throttle.Shed, true), errBusy, rejected, 0},
		"99 is no opinion":             {say(99, true), errPlain, accepted, 0},
		"a mark is not its business":   {say(accepted, true), throttle.MarkOverloaded(errPlain), rejected, 1},
		"nor is another mark":          {say(overloaded, true), throttle.MarkRejected(errPlain), rejected, 0},
		"nor is a mark that is nested": {say(accepted, true), errors.Join(io.EOF, throttle.MarkRejected(errPlain)), rejected, 0},
		"nor is success":               {say(rejected, true), nil, accepted, 0},
		"OverloadIf":                   {throttle.OverloadIf(always), errPlain, rejected, 1},
		"RejectIf of a quota":          {throttle.RejectIf(always), quota, rejected, 1},
		"AcceptIf of a quota":          {throttle.AcceptIf(always), quota, accepted, 0},
		"IgnoreIf of a quota":          {throttle.IgnoreIf(always), quota, ignored, 0},
		"First: the first of two":      {first, io.EOF, accepted, 0},
		"First: a later one":           {first, io.ErrShortWrite, rejected, 1},
		"First: the last":              {first, fmt.Errorf("read: %w", io.ErrNoProgress), ignored, 0},
		"First: no opinion":            {first, errBusy, rejected, 0},
		"First of none":                {throttle.First(), errPlain, accepted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Classify: c.classify, Hooks: w.hooks()})
			equal(t, "Classify", th.Classify(t.Context(), c.err), c.want)
			times(1, th, throttle.High, c.err)
			wantAdmitted(t, th, throttle.High, 1, c.want, throttle.FaultOf(c.err))
			equal(t, "overloaded", tier(th, throttle.High).Overloaded, c.full)
			equal(t, "outcome of the event", w.finished[0].Outcome, c.want)
			equal(t, "Overloaded of the event", w.finished[0].Overloaded, c.full == 1)
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
