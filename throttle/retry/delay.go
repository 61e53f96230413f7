package retry

import (
	"context"
	"time"

	"github.com/deixis/faults"
)

// DelayOf returns the delay that the backend asked for in err, such as a Retry-After or a RetryInfo:
// that of a faults.AvailabilityFailure in its tree. It is 0 if there is none.
func DelayOf(err error) time.Duration {
	if f, _ := faults.AsUnavailable(err); f != nil {
		return max(0, f.RetryInfo.RetryDelay)
	}
	return 0
}

// before returns the delay before retry n, which is at least 1. Asked is the delay of the backend.
// The random part comes after it, so that callers that were refused together do not return
// together. Random is from 0 to less than 1.
func (d *Delay) before(n int, asked time.Duration, random float64) time.Duration {
	longest := d.Initial
	for range n - 1 {
		longest = min(2*longest, d.Longest)
	}
	return asked + time.Duration(random*float64(longest))
}

// fits reports whether an attempt that begins after a delay can end before the deadline of ctx.
func (d *Delay) fits(ctx context.Context, delay time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > delay+d.Attempt
}

// wait reports whether ctx has not ended after a delay.
func wait(ctx context.Context, delay time.Duration) bool {
	if delay > 0 && ctx.Err() == nil {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
