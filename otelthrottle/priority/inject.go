package priority

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
)

// Inject returns a copy of ctx whose baggage says the priority of ctx, for an outbound call; a propagator takes it from
// there. Call it for the single call to a service of your own: baggage goes to every host that is called with its context.
//
// If ctx carries no priority, its baggage loses the member: nobody accepted what it says, so it does not travel on. If the
// baggage is full, at 64 members or 8192 bytes, the priority stays behind too, because receivers would drop someone else's
// members for it. Other members are left as they are.
func Inject(ctx context.Context) context.Context {
	ctx, _ = say(ctx, wordOf(ctx))
	return ctx
}

// wordOf returns the word for the priority that ctx carries, or nothing if it carries none.
func wordOf(ctx context.Context) string {
	p := throttle.PriorityFromContext(ctx, throttle.High)
	if p != throttle.PriorityFromContext(ctx, throttle.Low) {
		return "" // each default came back
	}
	return wordFor(p)
}
