package protocol

import (
	"context"
	"strconv"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// MaxAttempt is the highest number of an attempt that a server reads. More is not valid.
const MaxAttempt = 99

// ParseAttempt returns the number in text, from 1 to [MaxAttempt]. It returns 0 for any other text, such
// as "01" or "+1".
func ParseAttempt(text string) int {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n < 1 || n > MaxAttempt || text[0] == '0' {
		return 0
	}
	return int(n)
}

// Arrivals is what a server does about calls that their sender marks as retries. Make them with
// [NewArrivals].
type Arrivals struct {
	lower   bool
	arrived func(context.Context, retry.ArrivalEvent)
}

// NewArrivals returns the Arrivals for the fields LowerRetries and RetryHooks of a server's Config. Without
// an Arrived hook they call that of retry.DefaultHooks.
func NewArrivals(lower bool, hooks retry.Hooks) Arrivals {
	if hooks.Arrived == nil {
		hooks = retry.DefaultHooks()
	}
	return Arrivals{lower: lower, arrived: hooks.Arrived}
}

// Arrive counts a call of t that is attempt number 2 or more, with priority p. It returns a context with the
// attempt, and the priority: one lower if LowerRetries is set, unless the priority is fixed, because a trusted
// sender or an outer handler has named it.
func (a Arrivals) Arrive(
	ctx context.Context, t *throttle.Throttle, number int, p throttle.Priority, fixed bool,
) (context.Context, throttle.Priority) {
	ctx = retry.WithAttempt(ctx, retry.Attempt{Number: number, Throttle: t})
	if a.lower && !fixed && p >= 0 && int(p) < t.Priorities()-1 {
		p++
		ctx = throttle.WithPriority(ctx, p)
	}
	if a.arrived != nil {
		a.arrived(ctx, retry.ArrivalEvent{Name: t.Name(), Attempt: number})
	}
	return ctx, p
}
