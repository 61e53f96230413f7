package bucket

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Errors of requests, for errors.Is. [ErrDenied], [ErrStore] and [ErrClosed] also are
// [throttle.ErrShed]: the call was not made, so that the error says nothing about a backend. A
// throttle, a circuit breaker or a backoff around the limiter ignores them. The two others are mistakes of the
// caller: they count as every other error, as accepted.
var (
	// ErrDenied means that too few tokens are available now. The error is a *[DeniedError].
	ErrDenied error = &shedError{"bucket: not enough tokens"}
	// ErrExceedsCapacity means that the request is for more tokens than the bucket holds. Waiting
	// does not help.
	ErrExceedsCapacity = errors.New("bucket: more tokens than the bucket holds")
	// ErrNegative means that the request is for a negative number of tokens.
	ErrNegative = errors.New("bucket: a negative number of tokens")
	// ErrStore means that the store failed or gave no answer in time, and that Config.OnFailure did
	// not grant the request: see [FailurePolicy]. errors.Unwrap returns the store's error.
	ErrStore error = &shedError{"bucket: the store gave no answer"}
	// ErrClosed is the error of Wait if the limiter is or becomes closed.
	ErrClosed error = &shedError{"bucket: the limiter is closed"}
)

// errNil is the error of a Limiter that did not come from New.
var errNil = errors.New("bucket: nil or zero Limiter: make one with New")

// errNoFunction is the error of [Guard] with a nil function.
var errNoFunction = errors.New("bucket: nil function")

type shedError struct{ text string }

func (e *shedError) Error() string        { return e.text }
func (e *shedError) Is(target error) bool { return target == throttle.ErrShed }

type storeError struct{ err error }

func (e *storeError) Error() string        { return ErrStore.Error() + ": " + e.err.Error() }
func (e *storeError) Is(target error) bool { return target == ErrStore || target == throttle.ErrShed }
func (e *storeError) Unwrap() error        { return e.err }

// DeniedError is the error of a request that was denied because too few tokens were available.
type DeniedError struct {
	Limiter    string // the limiter's name
	Key        string
	RetryAfter time.Duration // until the tokens are available, if no other caller takes them
}

// Error names the limiter, the key and the time to retry after. A long key is cut.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v: %s, key %s, retry after %v", ErrDenied, e.Limiter, check.Shown(e.Key), e.RetryAfter)
}

// LogValue returns the fields of the error as a group. A long key is cut.
func (e *DeniedError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("limiter", e.Limiter), check.Attr("key", e.Key), slog.Duration("retry_after", e.RetryAfter))
}

// Is reports whether target is ErrDenied or throttle.ErrShed.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied || target == throttle.ErrShed }

// Temporary returns false, so that clients do not retry at once.
func (e *DeniedError) Temporary() bool { return false }
