package throttle

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// ErrShed matches the error of every shed call with errors.Is, whether a throttle, a breaker, a
// bucket or a backoff shed it. The call was not made.
var ErrShed = errors.New("throttle: call shed")

// ErrPanicked is the error in events for a function that panicked or called runtime.Goexit. No call
// returns it: the panic continues. The owner of a [Call] may pass it to [Call.Done] after a panic.
var ErrPanicked = errors.New("throttle: function panicked")

// ErrClosed is the error of [Group.Get] and [Group.Tune] after [Group.Close].
var ErrClosed = errors.New("throttle: group is closed")

// errNil is the error of calls on a nil or zero Throttle.
var errNil = errors.New("throttle: nil or zero Throttle: make one with New")

// errNoFunction is the error of calls with a nil function.
var errNoFunction = errors.New("throttle: nil function")

// ShedError is the error of a shed call. errors.As finds it as *ShedError, and errors.Is(err,
// [ErrShed]) is true. A throttle creates them in [New], so that shedding
// allocates nothing. Do not change it.
type ShedError struct {
	Throttle string   // name of the throttle
	Key      string   // key of the throttle in its Group; empty outside a Group
	Priority Priority // priority of the call
	Cause    Cause
	Tenant   bool // the tenant of the call takes more than its fair share: see [WithTenant]
}

// Error names the throttle, its key if it is a member of a Group, and the priority of the call.
func (e *ShedError) Error() string {
	why := ""
	switch e.Cause {
	case CauseLimit:
		why = ": calls are late, and too many are open"
	case CauseProcessor:
		why = ": requests wait for a processor"
	case CauseTold:
		why = ": the backend says that it sheds such calls"
	}
	if e.Tenant {
		why += ", and its tenant takes more than its share"
	}
	if e.Key != "" {
		return fmt.Sprintf("throttle: %s for %s shed a call of %v priority%s", e.Throttle, check.Shown(e.Key), e.Priority, why)
	}
	return fmt.Sprintf("throttle: %s shed a call of %v priority%s", e.Throttle, e.Priority, why)
}

// LogValue returns the fields of the error as a group.
func (e *ShedError) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("throttle", e.Throttle)}
	if e.Key != "" {
		attrs = append(attrs, check.Attr("key", e.Key))
	}
	attrs = append(attrs, slog.String("priority", e.Priority.String()), slog.String("cause", e.Cause.String()))
	if e.Tenant {
		attrs = append(attrs, slog.Bool("tenant", true))
	}
	return slog.GroupValue(attrs...)
}

// Is reports whether target is [ErrShed].
func (e *ShedError) Is(target error) bool { return target == ErrShed }

// Temporary returns false. Some clients retry temporary errors immediately, which would undo the
// shedding.
func (e *ShedError) Temporary() bool { return false }

type replacedShedError struct {
	shed *ShedError
	err  error
}

func (e *replacedShedError) Error() string   { return e.err.Error() }
func (e *replacedShedError) Unwrap() []error { return []error{e.shed, e.err} }

// shedErrors returns the errors of shed calls, by cause and priority. Tenant is their field.
func shedErrors(c *Config, key string, tenant bool) (errs [numCauses][]error) {
	for cause := range errs {
		errs[cause] = make([]error, c.Priorities)
		for p := range errs[cause] {
			shed := &ShedError{Throttle: c.Name, Key: key, Priority: Priority(p), Cause: Cause(cause), Tenant: tenant}
			errs[cause][p] = shed
			if c.ShedErr != nil {
				errs[cause][p] = &replacedShedError{shed: shed, err: c.ShedErr}
			}
		}
	}
	return errs
}

// rejectedError marks an error as a rejection by the backend.
type rejectedError struct {
	err  error
	full bool // the backend said that it is full
}

// MarkRejected marks err as a rejection by the backend: the call counts as [Rejected], whatever err
// is. [Throttle.Do] removes the outermost mark before it returns the error. A mark inside a wrapped
// error also counts; it stays and is transparent for errors.Is and errors.As. MarkRejected(nil) is
// nil. Only a timeout or a cancellation is ignored with a mark too, while calls wait for a processor: see
// [Config.ProcessorWait].
func MarkRejected(err error) error {
	if err == nil {
		return nil
	}
	return &rejectedError{err: err}
}

// MarkOverloaded is [MarkRejected] for a rejection of which it is certain that the backend is full: it
// said so, or asks to wait. [Tiered] acts on it at once. Other rejections may be errors that have
// nothing to do with load: Tiered acts on them if they are many, or if the load has grown. See [AlertReason].
func MarkOverloaded(err error) error {
	if err == nil {
		return nil
	}
	return &rejectedError{err: err, full: true}
}

func (e *rejectedError) Error() string { return e.err.Error() }
func (e *rejectedError) Unwrap() error { return e.err }

// MarkedRejected shows the mark to package breaker.
func (e *rejectedError) MarkedRejected() {}

func unmark(err error) error {
	if mark, ok := err.(*rejectedError); ok {
		return mark.err
	}
	return err
}
