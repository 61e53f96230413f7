package priority

import (
	"context"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/throttle"
)

// Accept returns a copy of ctx with the priority that trust grants to what the baggage of ctx says. It replaces a priority
// that ctx has already. Baggage without the member gets the Default of trust, up to its Ceiling.
//
// The baggage of the returned context says no more than was accepted. A trusted peer's word stays as it is, with its
// properties; one above the Ceiling is replaced by what it was lowered to. Any other word is taken out: that of an
// untrusted peer, even if it is the Default, and one that is no priority. Other members are left as they are. Trust.Peer
// is asked at most once, and only about a word that is a priority.
//
// Accept cannot see that a header had the member twice, since propagators keep the last one. [Middleware] does.
func Accept(ctx context.Context, trust throttle.Trust) context.Context {
	believed, peer := false, trust.Peer
	trust.Peer = func(ctx context.Context) bool {
		believed = peer != nil && peer(ctx)
		return believed
	}
	p := trust.Accept(ctx, baggage.FromContext(ctx).Member(BaggageKey).Value())

	onward := ""
	if believed {
		onward = wordFor(p)
	}
	ctx, _ = say(ctx, onward)
	return throttle.WithPriority(ctx, p)
}
