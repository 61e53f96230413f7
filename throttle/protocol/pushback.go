package protocol

import (
	"errors"
	"strconv"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// noRetry is the delay of a server that forbids retries: it says that it has no capacity, but not for how
// long.
const noRetry = time.Second

// Pushback returns what a server says about a retry in the metadata grpc-retry-pushback-ms, which has the
// given values: the delay before it, and whether there must be none. A value that is not valid means none,
// as in gRPC. A delay that is not 0 means that the server is full: give it to a faults.AvailabilityFailure.
func Pushback(values []string) (delay time.Duration, stop bool) {
	if len(values) == 0 {
		return 0, false
	}
	ms, err := strconv.ParseInt(values[0], 10, 32)
	if len(values) > 1 || err != nil || ms < 0 {
		return noRetry, true
	}
	return time.Duration(ms) * time.Millisecond, false
}

// Delay returns the delay before a retry that a server sends with the error err: what err asks for, see
// [retry.DelayOf], else for a shed what its method RetryAfter returns, as that of a breaker, or
// [RetryAfter]. It is at most [MaxDelay], and 0 for other errors.
func Delay(err error) time.Duration {
	if f, ok := faults.AsUnavailable(err); ok && f == nil {
		return 0 // errors.Is would panic
	}
	delay := retry.DelayOf(err)
	if delay == 0 && errors.Is(err, throttle.ErrShed) {
		delay = RetryAfter
		var shed interface{ RetryAfter() time.Duration }
		if errors.As(err, &shed) && shed.RetryAfter() > 0 {
			delay = shed.RetryAfter()
		}
	}
	return min(delay, MaxDelay)
}
