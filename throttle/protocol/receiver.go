package protocol

import (
	"context"
	"strconv"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// Receiver decides what a server does with a call before its throttle does. R describes a call to the
// functions. Throttle and Exempt are required.
type Receiver[R any] struct {
	// Throttle returns the throttle of a call, or nil if there is none, see [Throttles.Of].
	Throttle func(context.Context, R) *throttle.Throttle
	// Exempt reports whether a call is served whatever its throttle decides.
	Exempt func(context.Context, R) bool
	// Priority returns the priority of a call for which neither an outer handler nor a trusted sender
	// has one. Default: that of [Accept].
	Priority func(context.Context, R) throttle.Priority
	// Tenant returns on whose behalf a call is served. Default: the tenant of its context.
	Tenant func(context.Context, R) string
	// LowerRetries gives a retry one priority lower if Priority, or its default, has decided.
	LowerRetries bool
	// Arrived is called for each retry. It may be nil.
	Arrived func(context.Context, retry.ArrivalEvent)
}

// Receive returns the throttle of a call, its priority, and the context for the handler: with both, with
// the tenant, and with the attempt of a retry. The throttle is nil if the call passes none: it is exempt,
// or the server is closed. P and trusted are what [Accept] has returned. Attempt is the number that the
// sender has given to the call, 2 or more for a retry: see [ParseAttempt].
func (v *Receiver[R]) Receive(
	ctx context.Context, call R, p throttle.Priority, trusted bool, attempt int,
) (context.Context, *throttle.Throttle, throttle.Priority) {
	if v.Tenant != nil {
		ctx = throttle.WithTenant(ctx, v.Tenant(ctx, call))
	}
	earlier, fixed := Priority(ctx)
	if fixed {
		p = earlier
	} else {
		if !trusted && v.Priority != nil {
			p = v.Priority(ctx, call)
		}
		ctx = throttle.WithPriority(ctx, p)
	}
	t := v.Throttle(ctx, call)
	if t == nil || v.Exempt(ctx, call) {
		t.Exempt()
		return ctx, nil, p
	}
	if attempt > 1 {
		ctx, p = v.arrive(ctx, t, attempt, p, fixed || trusted)
	}
	return ctx, t, p
}

// arrive counts a retry. Its priority is fixed if a trusted sender or an outer handler has named it.
func (v *Receiver[R]) arrive(
	ctx context.Context, t *throttle.Throttle, attempt int, p throttle.Priority, fixed bool,
) (context.Context, throttle.Priority) {
	ctx = retry.WithAttempt(ctx, retry.Attempt{Number: attempt, Throttle: t})
	if v.LowerRetries && !fixed && p >= 0 && int(p) < t.Priorities()-1 {
		p++
		ctx = throttle.WithPriority(ctx, p)
	}
	if v.Arrived != nil {
		v.Arrived(ctx, retry.ArrivalEvent{Name: t.Name(), Attempt: attempt})
	}
	return ctx, p
}

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
