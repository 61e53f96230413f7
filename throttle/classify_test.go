package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

func TestDefaultClassify(t *testing.T) {
	quota := faults.ResourceExhausted(&faults.QuotaViolation{Subject: "ann"})
	for name, c := range map[string]struct {
		err  error
		want throttle.Outcome
	}{
		"nil":                     {nil, throttle.Accepted},
		"ordinary":                {errPlain, throttle.Accepted},
		"unavailable":             {faults.Unavailable(0), throttle.Rejected},
		"wraps unavailable":       {fmt.Errorf("load: %w", errBusy), throttle.Rejected},
		"unavailable wraps":       {faults.WithUnavailable(io.EOF, 0), throttle.Rejected},
		"quota":                   {quota, throttle.Rejected},
		"joins quota":             {errors.Join(io.EOF, quota), throttle.Rejected},
		"context deadline":        {context.DeadlineExceeded, throttle.Rejected},
		"os deadline":             {os.ErrDeadlineExceeded, throttle.Rejected},
		"timeout":                 {timeout(true), throttle.Rejected},
		"timeout that is none":    {timeout(false), throttle.Accepted},
		"ETIMEDOUT":               {&os.SyscallError{Syscall: "connect", Err: syscall.ETIMEDOUT}, throttle.Rejected},
		"ECONNREFUSED":            {&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}, throttle.Accepted},
		"canceled":                {context.Canceled, throttle.Ignored},
		"wraps canceled":          {fmt.Errorf("load: %w", context.Canceled), throttle.Ignored},
		"bad request":             {faults.Bad(), throttle.Accepted},
		"permission denied":       {faults.PermissionDenied, throttle.Accepted},
		"unauthenticated":         {faults.Unauthenticated, throttle.Accepted},
		"not found":               {faults.NotFound, throttle.Accepted},
		"unimplemented":           {faults.Unimplemented, throttle.Accepted},
		"failed precondition":     {faults.FailedPrecondition(), throttle.Accepted},
		"aborted":                 {faults.Aborted(), throttle.Accepted},
		"shed elsewhere":          {&throttle.ShedError{Throttle: "other"}, throttle.Ignored},
		"wraps ErrShed":           {fmt.Errorf("load: %w", throttle.ErrShed), throttle.Ignored},
		"mark":                    {throttle.MarkRejected(errPlain), throttle.Rejected},
		"mark around not found":   {throttle.MarkRejected(faults.NotFound), throttle.Rejected},
		"mark deep":               {fmt.Errorf("a: %w", errors.Join(io.EOF, fmt.Errorf("b: %w", throttle.MarkRejected(io.EOF)))), throttle.Rejected},
		"mark before shed":        {errors.Join(throttle.ErrShed, throttle.MarkRejected(errPlain)), throttle.Rejected},
		"mark before canceled":    {throttle.MarkRejected(context.Canceled), throttle.Rejected},
		"shed before unavailable": {errors.Join(errBusy, throttle.ErrShed), throttle.Ignored},
		"shed before canceled":    {errors.Join(context.Canceled, throttle.ErrShed), throttle.Ignored},
		"deadline before cancel":  {errors.Join(context.Canceled, context.DeadlineExceeded), throttle.Rejected},
		"busy before cancel":      {faults.WithUnavailable(context.Canceled, 0), throttle.Rejected},
		"not found in a timeout":  {errors.Join(faults.NotFound, timeout(true)), throttle.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "DefaultClassify", throttle.DefaultClassify(context.Background(), c.err), c.want)
			th := build(t, throttle.Config{})
			times(1, th, throttle.High, c.err)
			wantAdmitted(t, th, throttle.High, 1, c.want, throttle.FaultOf(c.err))
			equal(t, "window", tier(th, throttle.High).Window,
				throttle.WindowStats{Accepted: count(c.want == throttle.Accepted), Rejected: count(c.want == throttle.Rejected)})
		})
	}
}

func TestTheClassifierIsAskedBeforeTheDefault(t *testing.T) {
	say := func(o throttle.Outcome, ok bool) throttle.Classifier {
		return func(context.Context, error) (throttle.Outcome, bool) { return o, ok }
	}
	for name, c := range map[string]struct {
		classify throttle.Classifier
		err      error
		want     throttle.Outcome
	}{
		"nil":                          {nil, errBusy, throttle.Rejected},
		"accepts what is busy":         {say(throttle.Accepted, true), errBusy, throttle.Accepted},
		"ignores what is busy":         {say(throttle.Ignored, true), errBusy, throttle.Ignored},
		"rejects what is ordinary":     {say(throttle.Rejected, true), errPlain, throttle.Rejected},
		"rejects what is canceled":     {say(throttle.Rejected, true), context.Canceled, throttle.Rejected},
		"rejects another's shed":       {say(throttle.Rejected, true), throttle.ErrShed, throttle.Rejected},
		"no opinion about busy":        {say(throttle.Accepted, false), errBusy, throttle.Rejected},
		"no opinion about ordinary":    {say(throttle.Rejected, false), errPlain, throttle.Accepted},
		"Shed is no opinion":           {say(throttle.Shed, true), errBusy, throttle.Rejected},
		"99 is no opinion":             {say(99, true), errPlain, throttle.Accepted},
		"a mark is not its business":   {say(throttle.Accepted, true), throttle.MarkRejected(errPlain), throttle.Rejected},
		"nor is a mark that is nested": {say(throttle.Accepted, true), errors.Join(io.EOF, throttle.MarkRejected(errPlain)), throttle.Rejected},
		"nor is success":               {say(throttle.Rejected, true), nil, throttle.Accepted},
	} {
		t.Run(name, func(t *testing.T) {
			th := build(t, throttle.Config{Classify: c.classify})
			times(1, th, throttle.High, c.err)
			wantAdmitted(t, th, throttle.High, 1, c.want, throttle.FaultOf(c.err))
		})
	}
}

func TestWhatTheClassifierIsGiven(t *testing.T) {
	type key struct{}
	wrapped := fmt.Errorf("load: %w", errPlain)
	asked := 0
	th := build(t, throttle.Config{
		Classify: func(ctx context.Context, err error) (throttle.Outcome, bool) {
			asked++
			equal(t, "error", err, wrapped)
			equal(t, "value in the context", ctx.Value(key{}), any("started"))
			return throttle.Ignored, true
		},
		Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, key{}, "started")
		}},
	})
	times(1, th, throttle.High, wrapped)
	times(1, th, throttle.High, nil)
	times(1, th, throttle.High, throttle.MarkRejected(errPlain))
	equal(t, "times asked", asked, 1)
}

func TestFirstTakesTheFirstOpinion(t *testing.T) {
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	classify := throttle.First(
		nil,
		throttle.AcceptIf(is(io.EOF)),
		throttle.RejectIf(is(io.EOF)),
		throttle.RejectIf(is(io.ErrShortWrite)),
		nil,
		throttle.IgnoreIf(is(io.ErrNoProgress)),
		throttle.RejectIf(nil),
		throttle.AcceptIf(nil),
		throttle.IgnoreIf(nil),
	)
	for name, c := range map[string]struct {
		err  error
		want throttle.Outcome
		ok   bool
	}{
		"the first of two":        {io.EOF, throttle.Accepted, true},
		"a later one":             {io.ErrShortWrite, throttle.Rejected, true},
		"the last":                {fmt.Errorf("read: %w", io.ErrNoProgress), throttle.Ignored, true},
		"nobody, who has nothing": {errBusy, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := classify(context.Background(), c.err)
			equal(t, "opinion", ok, c.ok)
			if c.ok {
				equal(t, "outcome", got, c.want)
			}
		})
	}
	_, ok := throttle.First()(context.Background(), errPlain)
	equal(t, "opinion of none", ok, false)
}

func TestFirstStopsAtTheFirstOpinion(t *testing.T) {
	classify := throttle.First(
		throttle.AcceptIf(func(error) bool { return true }),
		func(context.Context, error) (throttle.Outcome, bool) {
			t.Error("got the second classifier asked, want it left alone")
			return throttle.Rejected, true
		},
	)
	got, _ := classify(context.Background(), errPlain)
	equal(t, "outcome", got, throttle.Accepted)
}

func TestFirstPassesOverAnOpinionThatIsNone(t *testing.T) {
	th := build(t, throttle.Config{Classify: throttle.First(
		func(context.Context, error) (throttle.Outcome, bool) { return throttle.Shed, true },
		throttle.RejectIf(func(error) bool { return true }),
	)})
	times(1, th, throttle.High, errPlain)
	wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultOther)
}

func TestANilFaultIsUnderstood(t *testing.T) {
	var none *faults.AvailabilityFailure
	equal(t, "outcome", throttle.DefaultClassify(t.Context(), none), throttle.Rejected)
}
