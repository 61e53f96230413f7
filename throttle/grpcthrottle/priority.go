package grpcthrottle

import (
	"context"
	"math"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
)

// PriorityKey is the key of the metadata that carries the priority of a call, as one of the words of
// [throttle.Priority.String].
const PriorityKey = "throttle-priority"

const (
	// nobodys is a priority that no throttle has: the context carries none.
	nobodys = throttle.Priority(math.MinInt8)
)

// carried returns the priority that ctx carries, and whether it does.
func carried(ctx context.Context) (throttle.Priority, bool) {
	p := throttle.PriorityFromContext(ctx, nobodys)
	return p, p != nobodys
}

// wordFor returns the word for p, or for the lowest priority if it is none: whoever gets it wrong is never promoted.
func wordFor(p throttle.Priority) string {
	p, _ = throttle.ClampPriority(p, throttle.MaxPriorities)
	return p.String()
}

// say returns a context whose outgoing metadata says word about the priority once, or nothing if word is empty. Metadata that
// was copied from a request would say it a second time, or to a stranger.
func say(ctx context.Context, word string) context.Context {
	md, ok := metadata.FromOutgoingContext(ctx) // a copy, made only if there is any
	said := md[PriorityKey]
	switch {
	case len(said) == 0 && word == "", len(said) == 1 && said[0] == word:
		return ctx
	case !ok:
		return metadata.NewOutgoingContext(ctx, metadata.MD{PriorityKey: {word}})
	case word == "":
		delete(md, PriorityKey)
	default:
		md[PriorityKey] = []string{word}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// hear returns the priority that trust grants to what the incoming metadata of ctx says, and whether the sender was believed.
// The context that it returns says no more than that.
func hear(ctx context.Context, trust throttle.Trust) (heard context.Context, p throttle.Priority, believed bool) {
	said := metadata.ValueFromIncomingContext(ctx, PriorityKey)
	if len(said) == 0 {
		return ctx, trust.Accept(ctx, ""), false
	}
	word, peer := "", trust.Peer
	if len(said) == 1 {
		word = said[0]
	}
	trust.Peer = func(ctx context.Context) bool {
		believed = peer != nil && peer(ctx)
		return believed
	}
	p = trust.Accept(ctx, word)
	if believed && word == p.String() {
		return ctx, p, true
	}
	md, _ := metadata.FromIncomingContext(ctx)
	delete(md, PriorityKey)
	if believed {
		md[PriorityKey] = []string{wordFor(p)}
	}
	return metadata.NewIncomingContext(ctx, md), p, believed
}
