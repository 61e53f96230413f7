package bucket

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// The errors of requests for tokens, for errors.Is. [ErrDenied], [ErrStore] and [ErrClosed] are [throttle.ErrShed] too: what was to be done was
// not done, which says nothing about a backend. So a throttle, a circuit or a backoff around it ignores them.
var (
	// ErrDenied means that there are not tokens enough now. What is returned is a *[DeniedError].
	ErrDenied error = &refusal{"bucket: not enough tokens"}
	// ErrExceedsCapacity means that more tokens were asked for than the bucket ever holds: waiting is of no use.
	ErrExceedsCapacity = errors.New("bucket: more tokens than the bucket holds")
	// ErrNegative means that less than no tokens were asked for.
	ErrNegative = errors.New("bucket: a negative number of tokens")
	// ErrStore means that the store gave no answer, and that Config.OnFailure denies what it cannot ask for. errors.Unwrap gives the reason.
	ErrStore error = &refusal{"bucket: the store gave no answer"}
	// ErrClosed is what Wait returns once the limiter is closed.
	ErrClosed error = &refusal{"bucket: the limiter is closed"}
)

// errNil answers requests to a Limiter that did not come from New.
var errNil = errors.New("bucket: nil or zero Limiter: make one with New")

// refusal is an error of what was not done, and not by a backend's doing.
type refusal struct{ text string }

func (e *refusal) Error() string        { return e.text }
func (e *refusal) Is(target error) bool { return target == throttle.ErrShed }

// storeError is ErrStore, and why.
type storeError struct{ why error }

func (e *storeError) Error() string        { return ErrStore.Error() + ": " + e.why.Error() }
func (e *storeError) Is(target error) bool { return target == ErrStore || target == throttle.ErrShed }
func (e *storeError) Unwrap() error        { return e.why }

// DeniedError is the error of a request for which there were not tokens enough.
type DeniedError struct {
	Limiter    string // the limiter's name
	Key        string
	RetryAfter time.Duration
}

// Error names the limiter, the key and the time to retry after. A long key is cut.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v: %s, key %s, retry after %v", ErrDenied, e.Limiter, check.Shown(e.Key), e.RetryAfter)
}

// LogValue returns the fields of the error as a group. A long key is cut.
func (e *DeniedError) LogValue() slog.Value {
	key := e.Key
	if len(key) > maxLoggedKey {
		key = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(key[:maxLoggedKey], ""), len(key))
	}
	return slog.GroupValue(slog.String("limiter", e.Limiter), slog.String("key", key), slog.Duration("retry_after", e.RetryAfter))
}

// maxLoggedKey is how many bytes of a key a log record contains.
const maxLoggedKey = 64

// Is reports whether target is ErrDenied, or throttle.ErrShed.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied || target == throttle.ErrShed }

// Temporary is false: trying again at once is of no use.
func (e *DeniedError) Temporary() bool { return false }
