package breaker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Reasons of a shed call, for errors.Is. The error itself is a *[ShedError].
var (
	// ErrOpen means that the circuit is open.
	ErrOpen = errors.New("breaker: circuit is open")
	// ErrTooManyRequests means that the circuit is half-open and its probes are used up.
	ErrTooManyRequests = errors.New("breaker: circuit is half-open and has no probe left")
	// ErrDisabled means that the circuit is disabled until [Manager.Enable].
	ErrDisabled = errors.New("breaker: circuit is disabled")
	// ErrStale means that the manager could not read its store for longer than Config.MaxStale, and
	// that Config.OnStale is FailClosed.
	ErrStale = errors.New("breaker: circuit state is stale")
)

// Errors of methods of a [Manager].
var (
	// ErrManagerClosed is returned by methods that run a closed manager or change its circuits.
	ErrManagerClosed = errors.New("breaker: the manager is closed")
	// ErrNotLeading is returned by Sample if another manager leads.
	ErrNotLeading = errors.New("breaker: another manager leads")
)

var (
	errNil        = errors.New("breaker: nil or zero Manager or Circuit: make a Manager with New")
	errRunning    = errors.New("breaker: Manager.Run is active already")
	errNoFunction = errors.New("breaker: nil function")
)

// ShedError is the error of a call that the circuit shed. The call was not made. errors.Is matches
// its Reason and [throttle.ErrShed]. An enclosing throttle, circuit or backoff therefore ignores
// the call. One value may be returned for many calls: do not change it.
type ShedError struct {
	Breaker string // the manager's name
	Key     Key
	State   State
	Reason  error // ErrOpen, ErrTooManyRequests, ErrDisabled or ErrStale

	until time.Time // end of the open state, by this process's clock; zero if unknown
}

// RetryAfter returns the time from now until the circuit may admit a call, or 0 if it is not known.
func (e *ShedError) RetryAfter() time.Duration {
	if e.until.IsZero() {
		return 0
	}
	return max(0, time.Until(e.until))
}

// Error returns the reason, the breaker's name and the key. A long key is cut.
func (e *ShedError) Error() string {
	return fmt.Sprintf("%v: %s, key %s", e.Reason, e.Breaker, shownKey(e.Key))
}

// LogValue returns the fields of the error as a group.
func (e *ShedError) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("breaker", e.Breaker), slog.Any("key", e.Key), slog.String("state", e.State.String()),
	}
	if e.Reason != nil {
		attrs = append(attrs, slog.String("reason", e.Reason.Error()))
	}
	if d := e.RetryAfter(); d > 0 {
		attrs = append(attrs, slog.Duration("retry_after", d))
	}
	return slog.GroupValue(attrs...)
}

// Is reports whether target is [throttle.ErrShed].
func (e *ShedError) Is(target error) bool { return target == throttle.ErrShed }

// Unwrap returns the reason.
func (e *ShedError) Unwrap() error { return e.Reason }

// Temporary returns false: an immediate retry would be shed too.
func (e *ShedError) Temporary() bool { return false }
