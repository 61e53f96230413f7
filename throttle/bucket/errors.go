package bucket

import (
	"errors"
	"fmt"
	"time"
)

// The errors of requests for tokens, for errors.Is.
var (
	// ErrDenied means that there are not tokens enough now. What is returned is a *[DeniedError].
	ErrDenied = errors.New("bucket: not enough tokens")
	// ErrExceedsCapacity means that more tokens were asked for than the bucket ever holds: waiting is of no use.
	ErrExceedsCapacity = errors.New("bucket: more tokens than the bucket holds")
	// ErrNegative means that less than no tokens were asked for.
	ErrNegative = errors.New("bucket: a negative number of tokens")
	// ErrStore means that the store gave no answer, and that Config.OnFailure denies what it cannot ask for.
	ErrStore = errors.New("bucket: the store gave no answer")
	// ErrClosed is what Wait returns once the limiter is closed.
	ErrClosed = errors.New("bucket: the limiter is closed")
)

// DeniedError is the error of a request for which there were not tokens enough.
type DeniedError struct {
	Limiter    string // the limiter's name
	Key        string
	RetryAfter time.Duration
}

// Error says what was denied, and for how long.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v: %s, key %.100q, retry after %v", ErrDenied, e.Limiter, e.Key, e.RetryAfter)
}

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Temporary is false: trying again at once is of no use.
func (e *DeniedError) Temporary() bool { return false }
