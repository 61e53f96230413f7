package throttle

import (
	"context"
	"os"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Fault is the kind of an error, from a closed set, so that it can label a metric. Zero is no error.
type Fault uint8

const (
	// FaultNone is the absence of an error.
	FaultNone Fault = iota
	// FaultAvailability is a faults.AvailabilityFailure: the backend is unavailable for now.
	FaultAvailability
	// FaultQuota is a faults.QuotaFailure: a limit is used up.
	FaultQuota
	// FaultAuthentication is a faults.AuthenticationFailure: who calls is not known.
	FaultAuthentication
	// FaultPermission is a faults.PermissionFailure: who calls may not.
	FaultPermission
	// FaultBad is a faults.BadRequest.
	FaultBad
	// FaultConflict is a faults.ConflictFailure: somebody else was faster.
	FaultConflict
	// FaultMissing is a faults.MissingFailure: there is no such thing.
	FaultMissing
	// FaultPrecondition is a faults.PreconditionFailure: the state does not allow it.
	FaultPrecondition
	// FaultUnimplemented is a faults.UnimplementedFailure.
	FaultUnimplemented
	// FaultTimeout is a deadline that passed, or any error whose Timeout method says so.
	FaultTimeout
	// FaultCanceled is context.Canceled: the caller went away.
	FaultCanceled
	// FaultShed is a call shed inside the call, by another throttle, a breaker, a bucket or a backoff.
	FaultShed
	// FaultPanic is a function that panicked or ended its goroutine instead of returning.
	FaultPanic
	// FaultOther is every other error.
	FaultOther

	// NumFaults is the number of kinds, [FaultNone] included.
	NumFaults = iota
)

// String returns the fault's word: "availability", "quota", "timeout" and so on, "none" for [FaultNone].
func (f Fault) String() string {
	return enum.Name("fault", f, "none availability quota authentication permission bad conflict missing precondition unimplemented timeout canceled shed panic other")
}

// MarshalText returns the fault's word, and an error if it has none.
func (f Fault) MarshalText() ([]byte, error) { return enum.Marshal(f, FaultNone, FaultOther) }

// UnmarshalText takes the fault's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (f *Fault) UnmarshalText(text []byte) error {
	return enum.Unmarshal(f, text, FaultNone, FaultOther)
}

// FaultOf returns the kind of err: of the kinds that its tree of wrapped errors holds, the outermost.
func FaultOf(err error) Fault {
	if err == nil {
		return FaultNone
	}
	f := examine(err)
	return f.fault()
}

// findings is what one walk over an error's tree has seen.
type findings struct {
	first  Fault
	seen   uint32 // one bit per Fault
	marked bool   // by MarkRejected
	budget int    // nodes left to visit: a tree may be endless
}

// largestTree is how many nodes of an error's tree are looked at before the rest is taken for unknown.
const largestTree = 1000

// examine walks over err's tree, outermost first. It is errors.Is and errors.As for all that classification asks, in
// one pass, because calls fail most often when time is shortest.
func examine(err error) findings {
	f := findings{budget: largestTree}
	f.walk(err)
	return f
}

func (f *findings) fault() Fault {
	if f.first == FaultNone {
		return FaultOther
	}
	return f.first
}

func (f *findings) has(kind Fault) bool {
	return f.seen&(1<<kind) != 0
}

func (f *findings) note(kind Fault) {
	if f.first == FaultNone {
		f.first = kind
	}
	f.seen |= 1 << kind
}

func (f *findings) walk(err error) {
	for err != nil && f.budget > 0 {
		f.budget--
		kind, end := kindOf(err)
		if kind == FaultNone {
			f.question(err)
		} else {
			f.note(kind)
		}
		if end {
			return
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, branch := range e.Unwrap() {
				f.walk(branch)
			}
			return
		default:
			return
		}
	}
}

// kindOf knows the errors that need no question, and those that wrap nothing: a nil pointer among them.
func kindOf(err error) (kind Fault, end bool) {
	switch e := err.(type) {
	case *faults.AvailabilityFailure:
		return FaultAvailability, e == nil
	case *faults.QuotaFailure:
		return FaultQuota, e == nil
	case *faults.AuthenticationFailure:
		return FaultAuthentication, e == nil
	case *faults.PermissionFailure:
		return FaultPermission, e == nil
	case *faults.BadRequest:
		return FaultBad, e == nil
	case *faults.ConflictFailure:
		return FaultConflict, e == nil
	case *faults.MissingFailure:
		return FaultMissing, e == nil
	case *faults.PreconditionFailure:
		return FaultPrecondition, e == nil
	case *faults.UnimplementedFailure:
		return FaultUnimplemented, e == nil
	case *ShedError:
		return FaultShed, true
	}
	switch err {
	case context.Canceled:
		return FaultCanceled, true
	case context.DeadlineExceeded:
		return FaultTimeout, true
	case ErrShed:
		return FaultShed, true
	case ErrPanicked:
		return FaultPanic, true
	}
	return FaultNone, false
}

// question asks an unknown error what it holds itself to be.
func (f *findings) question(err error) {
	if _, ok := err.(*rejectedError); ok {
		f.marked = true
		return
	}
	if e, ok := err.(interface{ Timeout() bool }); ok && e.Timeout() {
		f.note(FaultTimeout)
	}
	if e, ok := err.(interface{ Is(error) bool }); ok {
		f.questionIs(e)
	}
	if e, ok := err.(interface{ As(any) bool }); ok {
		f.questionAs(e)
	}
}

func (f *findings) questionIs(e interface{ Is(error) bool }) {
	if e.Is(ErrShed) {
		f.note(FaultShed)
	}
	if e.Is(context.DeadlineExceeded) || e.Is(os.ErrDeadlineExceeded) {
		f.note(FaultTimeout)
	}
	if e.Is(context.Canceled) {
		f.note(FaultCanceled)
	}
}

// questionAs asks for the kinds of faults as errors.As would, for errors that turn themselves into one.
func (f *findings) questionAs(e interface{ As(any) bool }) {
	askAs[*faults.AvailabilityFailure](f, e, FaultAvailability)
	askAs[*faults.QuotaFailure](f, e, FaultQuota)
	askAs[*faults.AuthenticationFailure](f, e, FaultAuthentication)
	askAs[*faults.PermissionFailure](f, e, FaultPermission)
	askAs[*faults.BadRequest](f, e, FaultBad)
	askAs[*faults.ConflictFailure](f, e, FaultConflict)
	askAs[*faults.MissingFailure](f, e, FaultMissing)
	askAs[*faults.PreconditionFailure](f, e, FaultPrecondition)
	askAs[*faults.UnimplementedFailure](f, e, FaultUnimplemented)
}

func askAs[T error](f *findings, e interface{ As(any) bool }, kind Fault) {
	var target T
	if e.As(&target) {
		f.note(kind)
	}
}
