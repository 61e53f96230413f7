package breaker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The reasons of a call that was shed, for errors.Is. What is returned is a *[ShedError].
var (
	// ErrOpen means that the circuit is open.
	ErrOpen = errors.New("breaker: circuit is open")
	// ErrTooManyRequests means that the circuit is half-open and its probes are under way.
	ErrTooManyRequests = errors.New("breaker: circuit is half-open and has probes enough")
	// ErrDisabled means that the circuit is disabled, until somebody enables it.
	ErrDisabled = errors.New("breaker: circuit is disabled")
	// ErrStale means that the manager has not heard from its store for longer than Config.MaxStale, and Config.OnStale is FailClosed.
	ErrStale = errors.New("breaker: nothing is known of the circuits")
)

// The errors of a manager that does not do what it was told to. They are of no call.
var (
	// ErrRunning is what Run returns if another Run of the manager is under way.
	ErrRunning = errors.New("breaker: the manager runs already")
	// ErrManagerClosed is what a closed manager returns to whoever wants to run it or to change circuits.
	ErrManagerClosed = errors.New("breaker: the manager is closed")
	// ErrNotLeading is what Sample returns if another manager leads.
	ErrNotLeading = errors.New("breaker: another manager leads")
)

// errNil answers whoever asks a Manager that did not come from New, or a Circuit of one.
var errNil = errors.New("breaker: nil or zero Manager or Circuit: make a Manager with New")

// errNoFunction answers calls with a nil function.
var errNoFunction = errors.New("breaker: nil function")

// ShedError is the error of a call that was shed: the circuit refused it, and it was not made. errors.Is finds its Reason, and
// [throttle.ErrShed] as in all that is shed, so a throttle or a circuit around it counts the call as ignored, and so does a backoff.
// It may be of many calls: do not change it.
type ShedError struct {
	Breaker string // the manager's name
	Key     Key
	State   State
	Reason  error // ErrOpen, ErrTooManyRequests, ErrDisabled or ErrStale

	until time.Time // zero if nobody knows
}

// RetryAfter returns how long it is from now until the circuit may let a call through; 0 if nobody knows.
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

// Temporary is false: trying again at once is of no use, and a retry that asks is told so.
func (e *ShedError) Temporary() bool { return false }
