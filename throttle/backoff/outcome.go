package backoff

import (
	"context"
	"fmt"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// Outcome is what became of a call. Make one that says when to come again with [ThrottledFor].
type Outcome int64

const (
	// Ignored says nothing about the rate: the call was not made, or the caller gave up.
	Ignored Outcome = 0
	// Success means that the service did its work, even if its answer is an ordinary error.
	Success Outcome = -1
	// Throttled means that the service refused the call because there were too many.
	Throttled Outcome = -2
)

// ThrottledFor is Throttled by a service that has said when to come again. Until then nobody is let through, but for no longer than
// Config.MaxInterval.
func ThrottledFor(d time.Duration) Outcome {
	if d <= 0 {
		return Throttled
	}
	return Outcome(d)
}

// String returns the outcome's word: "ignored", "success" or "throttled".
func (o Outcome) String() string {
	switch {
	case o == Ignored:
		return "ignored"
	case o == Success:
		return "success"
	case o.IsThrottled():
		return "throttled"
	}
	return fmt.Sprintf("outcome(%d)", int64(o))
}

// IsThrottled reports whether the service refused the call because there were too many, whether or not it has said when to come again: o is
// Throttled, or was made by ThrottledFor.
func (o Outcome) IsThrottled() bool { return o == Throttled || o > 0 }

// Classify tells outcomes apart as a throttle does: see [throttle.DefaultClassify]. What was refused on the way to the service, for which
// errors.Is(err, throttle.ErrShed) holds, is Ignored, because the service knows nothing of it. What the service rejected is Throttled, for as
// long as a faults.AvailabilityFailure among the errors says.
func Classify(err error) Outcome {
	switch throttle.DefaultClassify(context.Background(), err) {
	case throttle.Accepted:
		return Success
	case throttle.Rejected:
		return ThrottledFor(retryDelay(err))
	}
	return Ignored
}

// retryDelay is when the service wants to be called again, if it has said so. Errors whose methods panic, such as nil pointers, say nothing.
func retryDelay(err error) (d time.Duration) {
	defer func() { _ = recover() }()
	if failure, ok := faults.AsUnavailable(err); ok && failure != nil {
		return failure.RetryInfo.RetryDelay
	}
	return 0
}
