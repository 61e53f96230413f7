package breaker

import (
	"errors"
	"fmt"
	"time"
)

// The errors of a refused call, for errors.Is. What is returned is a *[RefusedError].
var (
	// ErrOpen means that the circuit is open.
	ErrOpen = errors.New("breaker: circuit is open")
	// ErrTooManyRequests means that the circuit is half-open and its probes are under way.
	ErrTooManyRequests = errors.New("breaker: circuit is half-open and has probes enough")
	// ErrDisabled means that the circuit is disabled, until somebody enables it.
	ErrDisabled = errors.New("breaker: circuit is disabled")
	// ErrRunning is what Run returns if another Run of the manager is under way.
	ErrRunning = errors.New("breaker: the manager runs already")
	// ErrClosed is what a closed manager returns to whoever wants to run it or to change circuits.
	ErrClosed = errors.New("breaker: the manager is closed")
	// ErrNotLeading is what Sample returns if another manager leads.
	ErrNotLeading = errors.New("breaker: another manager leads")
	// ErrStale means that the manager has not heard from its store for longer than Config.MaxStale, and Config.OnStale is FailClosed.
	ErrStale = errors.New("breaker: nothing is known of the circuits")
)

// RefusedError is the error of a call that was refused: it was not made.
type RefusedError struct {
	Breaker string // the manager's name
	Key     Key
	State   State
	Reason  error // ErrOpen, ErrTooManyRequests, ErrDisabled or ErrStale

	until time.Time // zero if nobody knows
}

// RetryAfter returns how long it is from now until the circuit may let a call through; 0 if nobody knows.
func (e *RefusedError) RetryAfter() time.Duration {
	if e.until.IsZero() {
		return 0
	}
	return max(0, time.Until(e.until))
}

// Error says what refused the call and why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v: %s, key %.200s", e.Reason, e.Breaker, e.Key)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Reason }

// Temporary is false: trying again at once is of no use, and a retry that asks is told so.
func (e *RefusedError) Temporary() bool { return false }
