package throttle

import (
	"errors"
	"fmt"
	"log/slog"
)

// ErrShed is what errors.Is finds in the error of every call that was shed, by a throttle, a breaker, a bucket or a backoff: the call
// was never made.
var ErrShed = errors.New("throttle: call shed")

// ErrPanicked stands in events for the error of a function that panicked, or ended its goroutine, instead of returning.
// No call returns it: the panic goes on up. Whoever ends a [Call] after a panic may give it to [Call.Done].
var ErrPanicked = errors.New("throttle: function panicked")

// ErrClosed is the error of [Group.Get] and [Group.Tune] after [Group.Close].
var ErrClosed = errors.New("throttle: group is closed")

// errNil answers calls on a Throttle that did not come from New.
var errNil = errors.New("throttle: nil or zero Throttle: make one with New")

// errNoChange answers a Tune without a function.
var errNoChange = errors.New("throttle: Tune needs a function")

// errNoFunction answers calls with a nil function.
var errNoFunction = errors.New("throttle: nil function")

// ShedError is the error of a shed call: errors.Is(err, [ErrShed]) holds for it, and errors.As finds it. Each throttle makes
// one per priority once and for all, so that refusing costs nothing; do not change it.
type ShedError struct {
	Throttle string   // name of the throttle
	Key      string   // key of the throttle in its Group; empty outside a Group
	Priority Priority // priority of the call
}

// Error names the throttle, its key if it is a member of a Group, and the priority of the call.
func (e *ShedError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("throttle: %s for %q shed a call of %v priority", e.Throttle, e.Key, e.Priority)
	}
	return fmt.Sprintf("throttle: %s shed a call of %v priority", e.Throttle, e.Priority)
}

// LogValue returns the fields of the error as a group.
func (e *ShedError) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("throttle", e.Throttle)}
	if e.Key != "" {
		attrs = append(attrs, slog.String("key", e.Key))
	}
	return slog.GroupValue(append(attrs, slog.String("priority", e.Priority.String()))...)
}

// Is reports whether target is ErrShed.
func (e *ShedError) Is(target error) bool { return target == ErrShed }

// Temporary reports false, for clients that retry at once what is temporary: that would undo what the throttle does.
func (e *ShedError) Temporary() bool { return false }

// replacedShedError is Config.ShedErr, still recognised as a ShedError.
type replacedShedError struct {
	shed *ShedError
	err  error
}

func (e *replacedShedError) Error() string   { return e.err.Error() }
func (e *replacedShedError) Unwrap() []error { return []error{e.shed, e.err} }

// shedErrors makes the errors that a throttle sheds with, one per priority.
func shedErrors(c *Config, key string) []error {
	errs := make([]error, c.Priorities)
	for p := range errs {
		shed := &ShedError{Throttle: c.Name, Key: key, Priority: Priority(p)}
		errs[p] = shed
		if c.ShedErr != nil {
			errs[p] = &replacedShedError{shed: shed, err: c.ShedErr}
		}
	}
	return errs
}

// rejectedError marks an error as the backend's refusal. It is transparent otherwise.
type rejectedError struct{ err error }

// MarkRejected marks err as the backend's: whatever it is, the call counts as [Rejected]. [Throttle.Do] takes the outermost
// mark off before it hands the error on; a mark that is itself wrapped works as well and stays, unseen. Nil stays nil.
func MarkRejected(err error) error {
	if err == nil {
		return nil
	}
	return &rejectedError{err: err}
}

func (e *rejectedError) Error() string { return e.err.Error() }
func (e *rejectedError) Unwrap() error { return e.err }

// unmark takes the outermost mark off err.
func unmark(err error) error {
	if mark, ok := err.(*rejectedError); ok {
		return mark.err
	}
	return err
}
