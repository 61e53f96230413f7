package priority

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
)

// Inject returns a copy of ctx whose baggage has the priority of ctx. A propagator sends it with an
// outbound call. Call it for each single call to a service of your own: baggage is sent to every
// host that is called with its context.
//
// If ctx has no priority, the member is removed from its baggage, because its value was not
// accepted. If the baggage is full, at 64 members or 8192 bytes, the priority is left out:
// receivers would drop other members for it. Other members stay as they are.
func Inject(ctx context.Context) context.Context {
	ctx, _ = setMember(ctx, valueOf(ctx))
	return ctx
}

// valueOf returns the baggage value of the priority of ctx, or "" if it has none.
func valueOf(ctx context.Context) string {
	p := throttle.PriorityFromContext(ctx, throttle.High)
	if p != throttle.PriorityFromContext(ctx, throttle.Low) {
		return "" // the result depends on the default: ctx has no priority
	}
	return valueFor(p)
}
