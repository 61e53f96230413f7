package faults

import (
	"errors"
	"time"
)

// AvailabilityFailure says that a service cannot answer now, but may later.
type AvailabilityFailure struct {
	// RetryInfo is the time to wait before a retry.
	RetryInfo RetryInfo

	failure[*AvailabilityFailure]
}

// RetryInfo is the time to wait before a retry.
type RetryInfo struct {
	// RetryDelay is the least time to wait. Zero means unknown.
	RetryDelay time.Duration
}

// Unavailable returns an [AvailabilityFailure] that asks to retry after delay.
// A negative delay is clamped to zero.
func Unavailable(delay time.Duration) error {
	return newAvailability(nil, delay)
}

// WithUnavailable wraps err in an [AvailabilityFailure] that asks to retry
// after delay. A negative delay is clamped to zero. A nil err gives nil.
func WithUnavailable(err error, delay time.Duration) error {
	return wrap(err, newAvailability(err, delay))
}

// IsUnavailable reports whether err is or wraps an [AvailabilityFailure].
func IsUnavailable(err error) bool { return found[*AvailabilityFailure](err) }

// AsUnavailable returns the first [AvailabilityFailure] in the tree of err.
func AsUnavailable(err error) (*AvailabilityFailure, bool) {
	return errors.AsType[*AvailabilityFailure](err)
}

// Error returns the text of the kind, and the delay if there is one.
func (f *AvailabilityFailure) Error() string {
	if d := f.RetryInfo.RetryDelay; d > 0 {
		return "service temporarily unavailable, retry in " + d.String()
	}
	return "service temporarily unavailable"
}

func newAvailability(cause error, delay time.Duration) *AvailabilityFailure {
	return &AvailabilityFailure{RetryInfo: RetryInfo{RetryDelay: max(0, delay)}, failure: failure[*AvailabilityFailure]{cause}}
}
