package backoff

import (
	"context"
	"fmt"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// Outcome is the result of a call, as far as it matters for the delay: Ignored, Success, Throttled,
// or the result of [ThrottledFor]. The zero Outcome is Ignored. Compare Outcomes with ==, and use
// [Outcome.IsThrottled] to find both forms of Throttled.
//
// Use only the constants, [ThrottledFor] and the methods: the integer values may change.
type Outcome int64

const (
	// Ignored means that the call does not affect the delay: it was not made, or its caller gave
	// up.
	Ignored Outcome = 0
	// Success means that the service did its work, even if it returned an ordinary error.
	Success Outcome = -1
	// Throttled means that the service refused the call because it received too many.
	Throttled Outcome = -2
	// Positive values are Throttled with a Retry-After, in nanoseconds.
)

// ThrottledFor returns Throttled with the time that the service asked callers to wait, such as that
// of a Retry-After header. All workers wait for that long, but not longer than Config.MaxInterval.
// It returns Throttled if d is not positive.
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

// IsThrottled reports whether o is Throttled or a result of [ThrottledFor].
func (o Outcome) IsThrottled() bool { return o == Throttled || o > 0 }

// RetryAfter returns the duration given to [ThrottledFor], or 0 for every other Outcome.
func (o Outcome) RetryAfter() time.Duration { return max(0, time.Duration(o)) }

// Classify returns the outcome of a call from its error, by the rules of
// [throttle.DefaultClassify]:
//   - An error that a throttle counts as rejected is Throttled. If it contains a
//     faults.AvailabilityFailure with a RetryDelay, the Outcome is ThrottledFor that delay.
//   - The error of a call that a throttle, breaker, bucket or backoff shed is Ignored, because it
//     did not reach the service: errors.Is(err, [throttle.ErrShed]) is true.
//   - The error of a call that its caller canceled is Ignored.
//   - Nil and every other error is Success.
func Classify(err error) Outcome {
	switch throttle.DefaultClassify(context.Background(), err) {
	case throttle.Accepted:
		return Success
	case throttle.Rejected:
		return ThrottledFor(retryDelay(err))
	}
	return Ignored
}

// retryDelay returns the delay of an availability failure in err, or 0. It returns 0 too if a
// method of an error panics, such as that of a nil pointer.
func retryDelay(err error) (d time.Duration) {
	defer func() { _ = recover() }()
	if failure, ok := faults.AsUnavailable(err); ok && failure != nil {
		return failure.RetryInfo.RetryDelay
	}
	return 0
}
