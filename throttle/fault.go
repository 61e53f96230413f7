package throttle

import (
	"context"
	"iter"
	"os"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Fault is the kind of an error, from a closed set, so that it can be a metric label. The zero
// Fault is FaultNone.
type Fault uint8

const (
	// FaultNone means no error.
	FaultNone Fault = iota
	// FaultAvailability is a faults.AvailabilityFailure: the backend is temporarily unavailable.
	FaultAvailability
	// FaultQuota is a faults.QuotaFailure: a limit is used up.
	FaultQuota
	// FaultAuthentication is a faults.AuthenticationFailure: the caller is not authenticated.
	FaultAuthentication
	// FaultPermission is a faults.PermissionFailure: the caller has no permission.
	FaultPermission
	// FaultBad is a faults.BadRequest.
	FaultBad
	// FaultConflict is a faults.ConflictFailure: another caller changed the resource first.
	FaultConflict
	// FaultMissing is a faults.MissingFailure: the resource does not exist.
	FaultMissing
	// FaultPrecondition is a faults.PreconditionFailure: the state does not allow it.
	FaultPrecondition
	// FaultUnimplemented is a faults.UnimplementedFailure.
	FaultUnimplemented
	// FaultTimeout is an exceeded deadline, or an error whose Timeout method returns true.
	FaultTimeout
	// FaultCanceled is context.Canceled: the caller cancelled the call.
	FaultCanceled
	// FaultShed is a call that another throttle, a breaker, a bucket or a backoff shed inside the call.
	FaultShed
	// FaultPanic is a function that panicked or called runtime.Goexit.
	FaultPanic
	// FaultOther is every other error.
	FaultOther

	numFaults = iota
)

// Faults yields every fault, [FaultNone] first.
func Faults() iter.Seq[Fault] { return enum.All(FaultNone, FaultOther) }

// String returns the word of the fault: "availability", "quota", "timeout" and so on; "none" for
// [FaultNone].
func (f Fault) String() string {
	return enum.Name("fault", f, "none availability quota authentication permission bad conflict missing precondition unimplemented timeout canceled shed panic other")
}

// MarshalText returns the word of the fault, or an error if the fault is not defined.
func (f Fault) MarshalText() ([]byte, error) { return enum.Marshal(f, FaultNone, FaultOther) }

// UnmarshalText reads the word of a fault. Any other text is an error, and does not change f.
func (f *Fault) UnmarshalText(text []byte) error {
	return enum.Unmarshal(f, text, FaultNone, FaultOther)
}

// FaultOf returns the kind of err: the outermost known kind in its tree of wrapped errors.
func FaultOf(err error) Fault {
	if err == nil {
		return FaultNone
	}
	f := examine(err)
	return f.fault()
}

// findings is the result of one walk over the tree of an error.
type findings struct {
	first  Fault
	seen   uint32 // one bit per Fault
	marked bool   // by MarkRejected or MarkOverloaded
	full   bool   // the backend is full: see MarkOverloaded
	budget int    // errors left to examine: a tree may be infinite
}

// largestTree is the number of errors in a tree that are examined.
const largestTree = 1000

// examine walks over the tree of err, outermost first. It does errors.Is and errors.As for
// everything that classification needs in one pass, because errors are most frequent when the
// process has the least time.
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
	f.full = f.full || kind == FaultQuota
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
		f.full = f.full || asksToWait(err)
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

// kindOf returns the kind of errors that are known by type or value. End reports that err wraps
// nothing, for example a nil pointer.
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

// asksToWait reports whether err is the answer of a backend that says when to try again.
func asksToWait(err error) bool {
	a, ok := err.(*faults.AvailabilityFailure)
	return ok && a != nil && a.RetryInfo.RetryDelay > 0
}

// question calls the methods of an unknown error: Timeout, Is and As.
func (f *findings) question(err error) {
	if mark, ok := err.(*rejectedError); ok {
		f.marked, f.full = true, f.full || mark.full
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

// questionAs calls As for every kind of fault, for errors that convert themselves.
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
		f.full = f.full || asksToWait(target)
	}
}
