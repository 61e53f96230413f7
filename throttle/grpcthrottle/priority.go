package grpcthrottle

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// PriorityKey is the key of the metadata that carries the priority of a call. Its value is one of
// the words of [throttle.Priority.String].
const PriorityKey = "throttle-priority"

// withOutgoing returns a context whose outgoing metadata has word as the only value of PriorityKey.
// Empty removes the key. Metadata that was copied from a request may already have one.
func withOutgoing(ctx context.Context, word string) context.Context {
	md, ok := metadata.FromOutgoingContext(ctx) // a copy; nil if there is no metadata
	values := md[PriorityKey]
	switch {
	case len(values) == 0 && word == "", len(values) == 1 && values[0] == word:
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

// accept returns the priority that trust accepts from the incoming metadata, and whether the sender
// is trusted. The metadata of the returned context has PriorityKey only if the sender is trusted,
// with the priority that was accepted.
func accept(ctx context.Context, trust throttle.Trust) (_ context.Context, p throttle.Priority, trusted bool) {
	values := metadata.ValueFromIncomingContext(ctx, PriorityKey)
	if len(values) == 0 {
		return ctx, trust.Accept(ctx, ""), false
	}
	p, trusted = protocol.Accept(ctx, trust, values)
	if trusted && values[0] == p.String() {
		return ctx, p, true
	}
	md, _ := metadata.FromIncomingContext(ctx)
	delete(md, PriorityKey)
	if trusted {
		md[PriorityKey] = []string{protocol.Word(p)}
	}
	return metadata.NewIncomingContext(ctx, md), p, trusted
}
