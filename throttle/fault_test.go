package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"testing"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// kinds has a bare error, and where there is one a wrapper, of every kind.
var kinds = []struct {
	fault throttle.Fault
	word  string
	bare  error
	wrap  func(error) error
}{
	{throttle.FaultAvailability, "availability", faults.Unavailable(0), func(err error) error { return faults.WithUnavailable(err, 0) }},
	{throttle.FaultQuota, "quota", faults.ResourceExhausted(), func(err error) error { return faults.WithResourceExhausted(err) }},
	{throttle.FaultAuthentication, "authentication", faults.Unauthenticated, faults.WithUnauthenticated},
	{throttle.FaultPermission, "permission", faults.PermissionDenied, faults.WithPermissionDenied},
	{throttle.FaultBad, "bad", faults.Bad(), func(err error) error { return faults.WithBad(err) }},
	{throttle.FaultConflict, "conflict", faults.Aborted(), func(err error) error { return faults.WithAborted(err) }},
	{throttle.FaultMissing, "missing", faults.NotFound, faults.WithNotFound},
	{throttle.FaultPrecondition, "precondition", faults.FailedPrecondition(), func(err error) error { return faults.WithFailedPrecondition(err) }},
	{throttle.FaultUnimplemented, "unimplemented", faults.Unimplemented, faults.WithUnimplemented},
	{throttle.FaultTimeout, "timeout", context.DeadlineExceeded, nil},
	{throttle.FaultTimeout, "timeout", os.ErrDeadlineExceeded, nil},
	{throttle.FaultTimeout, "timeout", timeout(true), nil},
	{throttle.FaultCanceled, "canceled", context.Canceled, nil},
	{throttle.FaultShed, "shed", throttle.ErrShed, nil},
	{throttle.FaultShed, "shed", &throttle.ShedError{}, nil},
	{throttle.FaultPanic, "panic", throttle.ErrPanicked, nil},
	{throttle.FaultOther, "other", errPlain, nil},
	{throttle.FaultOther, "other", timeout(false), nil},
}

func TestFaultOfEveryKind(t *testing.T) {
	for _, k := range kinds {
		t.Run(fmt.Sprintf("%s, %T", k.word, k.bare), func(t *testing.T) {
			equal(t, "bare", throttle.FaultOf(k.bare), k.fault)
			equal(t, "wrapped", throttle.FaultOf(fmt.Errorf("load: %w", fmt.Errorf("get: %w", k.bare))), k.fault)
			equal(t, "joined", throttle.FaultOf(errors.Join(io.EOF, k.bare)), k.fault)
			equal(t, "two %w", throttle.FaultOf(fmt.Errorf("%w after %w", io.EOF, k.bare)), k.fault)
			equal(t, "marked", throttle.FaultOf(throttle.RejectedError(k.bare)), k.fault)
			equal(t, "word", k.fault.String(), k.word)
			if k.wrap != nil {
				equal(t, "around another error", throttle.FaultOf(k.wrap(io.EOF)), k.fault)
				equal(t, "around another kind", throttle.FaultOf(k.wrap(context.DeadlineExceeded)), k.fault)
			}
		})
	}
	equal(t, "nil", throttle.FaultOf(nil), throttle.FaultNone)
	equal(t, "word for nil", throttle.FaultNone.String(), "none")
	equal(t, "word for nonsense", throttle.Fault(99).String(), "fault(99)")
	equal(t, "word for more nonsense", throttle.Fault(throttle.NumFaults).String(), "fault(15)")
}

func TestEveryFaultHasAWordOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for f := range throttle.Fault(throttle.NumFaults) {
		equal(t, f.String()+" seen before", seen[f.String()], false)
		seen[f.String()] = true
	}
}

func TestFaultOfIsTheOutermostKind(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want throttle.Fault
	}{
		"chain":                {faults.WithNotFound(faults.Unavailable(0)), throttle.FaultMissing},
		"chain, turned around": {faults.WithUnavailable(faults.NotFound, 0), throttle.FaultAvailability},
		"join, left to right":  {errors.Join(errPlain, faults.NotFound, faults.Unavailable(0)), throttle.FaultMissing},
		"join, left is deeper": {errors.Join(fmt.Errorf("a: %w", faults.NotFound), faults.Unavailable(0)), throttle.FaultMissing},
		"a refused dial":       {&url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}, throttle.FaultTimeout},
		"a cancelled request":  {&url.Error{Op: "Get", Err: context.Canceled}, throttle.FaultCanceled},
	} {
		t.Run(name, func(t *testing.T) { equal(t, "FaultOf", throttle.FaultOf(c.err), c.want) })
	}
}

// chameleon is an error that holds itself to be others, by the methods that errors.Is and errors.As ask.
type chameleon struct {
	is error // what it says to be, if not nil
	as error // what it turns into, if not nil
}

func (chameleon) Error() string { return "chameleon" }

func (c chameleon) Is(target error) bool { return c.is != nil && c.is == target }

func (c chameleon) As(target any) bool {
	switch target.(type) {
	case **faults.AvailabilityFailure, **faults.QuotaFailure, **faults.MissingFailure:
		return errors.As(c.as, target)
	}
	return false
}

func TestErrorsThatHoldThemselvesToBeOthers(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		fault   throttle.Fault
		outcome throttle.Outcome
	}{
		"Is ErrShed":          {chameleon{is: throttle.ErrShed}, throttle.FaultShed, throttle.Ignored},
		"Is DeadlineExceeded": {chameleon{is: context.DeadlineExceeded}, throttle.FaultTimeout, throttle.Rejected},
		"Is os deadline":      {chameleon{is: os.ErrDeadlineExceeded}, throttle.FaultTimeout, throttle.Rejected},
		"Is Canceled":         {chameleon{is: context.Canceled}, throttle.FaultCanceled, throttle.Ignored},
		"Is nothing known":    {chameleon{is: io.EOF}, throttle.FaultOther, throttle.Accepted},
		"As availability":     {chameleon{as: faults.Unavailable(0)}, throttle.FaultAvailability, throttle.Rejected},
		"As quota":            {chameleon{as: faults.ResourceExhausted()}, throttle.FaultQuota, throttle.Rejected},
		"As missing":          {chameleon{as: faults.NotFound}, throttle.FaultMissing, throttle.Accepted},
		"Timeout":             {timeout(true), throttle.FaultTimeout, throttle.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			for how, err := range map[string]error{
				"bare": c.err, "wrapped": fmt.Errorf("load: %w", c.err), "joined": errors.Join(io.EOF, c.err),
			} {
				equal(t, how+": FaultOf", throttle.FaultOf(err), c.fault)
				equal(t, how+": DefaultClassify", throttle.DefaultClassify(context.Background(), err), c.outcome)
			}
		})
	}
}

// loop is an error that wraps itself, once or twice.
type loop struct{ self []error }

func (*loop) Error() string     { return "loop" }
func (l *loop) Unwrap() []error { return l.self }

// knot is an error that wraps itself.
type knot struct{}

func (*knot) Error() string   { return "knot" }
func (k *knot) Unwrap() error { return k }

// link wraps an error and has no text, which would grow with the chain.
type link struct{ err error }

func (link) Error() string   { return "link" }
func (l link) Unwrap() error { return l.err }

func TestTreesOfErrorsThatAreTooLarge(t *testing.T) {
	twice := &loop{}
	twice.self = []error{twice, twice}
	beside := &loop{}
	beside.self = []error{errBusy, beside}
	deep := errPlain
	for range 10_000 {
		deep = link{deep}
	}
	wide := make([]error, 100_000)
	for i := range wide {
		wide[i] = errPlain
	}
	for name, c := range map[string]struct {
		err     error
		fault   throttle.Fault
		outcome throttle.Outcome
	}{
		"wraps itself":             {&knot{}, throttle.FaultOther, throttle.Accepted},
		"wraps itself twice":       {twice, throttle.FaultOther, throttle.Accepted},
		"a fault before the loop":  {beside, throttle.FaultAvailability, throttle.Rejected},
		"a mark around a loop":     {throttle.RejectedError(&knot{}), throttle.FaultOther, throttle.Rejected},
		"10,000 deep":              {deep, throttle.FaultOther, throttle.Accepted},
		"10,000 deep under a kind": {faults.WithUnavailable(deep, 0), throttle.FaultAvailability, throttle.Rejected},
		"100,000 wide":             {errors.Join(wide...), throttle.FaultOther, throttle.Accepted},
		"100,000 wide with a kind": {errors.Join(errBusy, errors.Join(wide...)), throttle.FaultAvailability, throttle.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "FaultOf", throttle.FaultOf(c.err), c.fault)
			equal(t, "DefaultClassify", throttle.DefaultClassify(context.Background(), c.err), c.outcome)
			th := build(t, throttle.Config{})
			times(1, th, throttle.High, c.err)
			wantAdmitted(t, th, throttle.High, 1, c.outcome, c.fault)
		})
	}
}
