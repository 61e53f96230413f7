package priority

import (
	"context"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/throttle"
)

// Accept returns a copy of ctx with the priority that trust grants to the baggage of ctx. It
// replaces a priority that ctx already has. Baggage without the member gets the Default of trust,
// or its Ceiling if that is lower.
//
// The baggage of the returned context has the accepted priority only:
//
//   - If the sender is trusted, the member stays as it is, with its properties.
//   - If it is above the Ceiling, its value becomes the Ceiling.
//   - Any other member is removed: that of an untrusted sender, even if it names the Default, and one
//     that is not a valid priority.
//
// Other members stay as they are. Trust.Peer is called at most once, and only for a valid priority.
//
// Propagators keep only the last of two equal members, so Accept cannot detect that a header had
// the member twice. [Middleware] does.
func Accept(ctx context.Context, trust throttle.Trust) context.Context {
	trusted, peer := false, trust.Peer
	trust.Peer = func(ctx context.Context) bool {
		trusted = peer != nil && peer(ctx)
		return trusted
	}
	p := trust.Accept(ctx, baggage.FromContext(ctx).Member(BaggageKey).Value())

	value := ""
	if trusted {
		value = valueFor(p)
	}
	ctx, _ = setMember(ctx, value)
	return throttle.WithPriority(ctx, p)
}
