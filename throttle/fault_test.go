package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

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

// loop is an error that wraps itself, once or twice.
type loop struct{ self []error }

func (*loop) Error() string { return "loop" }

func (l *loop) Unwrap() []error { return l.self }

// knot is an error that wraps itself.
type knot struct{}

func (*knot) Error() string { return "knot" }

func (k *knot) Unwrap() error { return k }

// link wraps an error and has no text, which would grow with the chain.
type link struct{ err error }

func (link) Error() string { return "link" }

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
		"a mark around a loop":     {throttle.MarkRejected(&knot{}), throttle.FaultOther, throttle.Rejected},
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

// plainClassify is DefaultClassify in the words of its documentation, one question after the other. A mark cannot be seen
// from outside the package, so whoever built the tree says whether there is one.
func plainClassify(err error, marked bool) throttle.Outcome {
	switch {
	case err == nil:
		return throttle.Accepted
	case marked:
		return throttle.Rejected
	case errors.Is(err, throttle.ErrShed):
		return throttle.Ignored
	case isA[*faults.AvailabilityFailure](err), isA[*faults.QuotaFailure](err),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), anyTimeout(err):
		return throttle.Rejected
	case errors.Is(err, context.Canceled), errors.Is(err, throttle.ErrPanicked):
		return throttle.Ignored
	}
	return throttle.Accepted
}

func isA[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// anyTimeout reports whether err or an error that it wraps says that it is a timeout. errors.As asks no further than
// the first that has an opinion.
func anyTimeout(err error) bool {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // the tree is walked by hand
	case interface{ Unwrap() error }:
		return anyTimeout(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			if anyTimeout(branch) {
				return true
			}
		}
	}
	return false
}

// plainFaults are the kinds that errors.Is and errors.As find in err.
func plainFaults(err error) map[throttle.Fault]bool {
	found := map[throttle.Fault]bool{
		throttle.FaultAvailability:   isA[*faults.AvailabilityFailure](err),
		throttle.FaultQuota:          isA[*faults.QuotaFailure](err),
		throttle.FaultAuthentication: isA[*faults.AuthenticationFailure](err),
		throttle.FaultPermission:     isA[*faults.PermissionFailure](err),
		throttle.FaultBad:            isA[*faults.BadRequest](err),
		throttle.FaultConflict:       isA[*faults.ConflictFailure](err),
		throttle.FaultMissing:        isA[*faults.MissingFailure](err),
		throttle.FaultPrecondition:   isA[*faults.PreconditionFailure](err),
		throttle.FaultUnimplemented:  isA[*faults.UnimplementedFailure](err),
		throttle.FaultTimeout:        anyTimeout(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded),
		throttle.FaultCanceled:       errors.Is(err, context.Canceled),
		throttle.FaultShed:           errors.Is(err, throttle.ErrShed),
		throttle.FaultPanic:          errors.Is(err, throttle.ErrPanicked),
	}
	for f, ok := range found {
		if !ok {
			delete(found, f)
		}
	}
	return found
}

// list is an error that cannot be compared.
type list []error

func (list) Error() string { return "list" }

func (l list) Unwrap() []error { return l }

// disguised has the methods of an availability failure, but not its type.
type disguised struct{ *faults.AvailabilityFailure }

// late wraps an error and says of itself whether it is a timeout.
type late struct {
	timeout
	err error
}

func (l late) Unwrap() error { return l.err }

// leaves are what trees are made of.
var leaves = []error{
	nil, errPlain, io.EOF, list(nil), &own{}, timeout(true), timeout(false), os.ErrDeadlineExceeded,
	context.DeadlineExceeded, context.Canceled, throttle.ErrShed, throttle.ErrPanicked, &throttle.ShedError{},
	errBusy, faults.ResourceExhausted(), faults.Unauthenticated, faults.PermissionDenied, faults.Bad(), faults.Aborted(),
	faults.NotFound, faults.FailedPrecondition(), faults.Unimplemented,
	disguised{&faults.AvailabilityFailure{}},
	chameleon{is: throttle.ErrShed},
	chameleon{is: context.Canceled},
	chameleon{is: os.ErrDeadlineExceeded},
	chameleon{as: faults.Unavailable(0)},
	chameleon{as: faults.ResourceExhausted()},
	chameleon{as: faults.NotFound, is: context.DeadlineExceeded},
}

// tree builds an error out of bytes, and says whether it has put a mark in.
type tree struct {
	recipe []byte
	marked bool
	nodes  int
}

func (b *tree) take() int {
	if len(b.recipe) == 0 {
		return 0
	}
	x := b.recipe[0]
	b.recipe = b.recipe[1:]
	return int(x)
}

func (b *tree) grow() error {
	b.nodes++
	x := b.take()
	if b.nodes > 400 {
		x = 0
	}
	switch x % 16 {
	case 1:
		return fmt.Errorf("wrapped: %w", b.grow())
	case 2:
		return errors.Join(b.grow(), b.grow())
	case 3:
		return fmt.Errorf("%w, %w and %w", b.grow(), b.grow(), b.grow())
	case 4:
		return list{b.grow(), nil, b.grow()}
	case 5:
		return late{timeout: x%32 == 5, err: b.grow()}
	case 6:
		err := throttle.MarkRejected(b.grow())
		b.marked = b.marked || err != nil
		return err
	case 7:
		return faults.WithUnavailable(b.grow(), 0)
	case 8:
		return faults.WithNotFound(b.grow())
	case 9:
		return faults.WithResourceExhausted(b.grow())
	case 10:
		return faults.WithPermissionDenied(b.grow())
	}
	return leaves[b.take()%len(leaves)]
}

func FuzzClassification(f *testing.F) {
	for leaf := range leaves {
		for wrapper := range byte(16) {
			f.Add([]byte{wrapper, 0, byte(leaf), 0, byte(leaf + 1), 0, byte(leaf + 2)})
			f.Add([]byte{2, wrapper, 3, 0, 1, 0, byte(leaf), 0, 0, 5, 0, byte(leaf)})
		}
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		b := tree{recipe: recipe}
		err := b.grow()
		want := plainClassify(err, b.marked)
		equal(t, fmt.Sprintf("DefaultClassify(%#v)", err), throttle.DefaultClassify(context.Background(), err), want)

		got, found := throttle.FaultOf(err), plainFaults(err)
		switch {
		case err == nil:
			equal(t, "FaultOf(nil)", got, throttle.FaultNone)
		case len(found) == 0:
			equal(t, fmt.Sprintf("FaultOf(%#v)", err), got, throttle.FaultOther)
		case !found[got]:
			t.Errorf("FaultOf(%#v): got %v want one of %v", err, got, found)
		}
	})
}
