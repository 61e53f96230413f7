package connectthrottle

import (
	"context"
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// PriorityHeader is the name of the header that carries the priority of a call. Its value is one of
// the words of [throttle.Priority.String]. Packages httpthrottle and grpcthrottle use the same name.
const PriorityHeader = httpthrottle.PriorityHeader

// unset is a value that is not a priority.
const unset = throttle.Priority(math.MinInt8)

// fromContext returns the priority that ctx carries, and whether it carries one.
func fromContext(ctx context.Context) (throttle.Priority, bool) {
	p := throttle.PriorityFromContext(ctx, unset)
	return p, p != unset
}

// wordFor returns the word for p. A value that is not a priority becomes the lowest.
func wordFor(p throttle.Priority) string {
	p, _ = throttle.ClampPriority(p, throttle.MaxPriorities)
	return p.String()
}

// setHeader makes word the only value of the PriorityHeader in h. Empty removes it. A header that
// was copied from a request may already have one, in any spelling.
func setHeader(h http.Header, word string) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.EqualFold(name, PriorityHeader) })
	if word != "" {
		h[PriorityHeader] = []string{word}
	}
}

// accept returns the priority that trust accepts from the header of a call, and whether the sender
// is trusted. It leaves the PriorityHeader in h only if the sender is trusted, with the priority
// that was accepted.
func accept(ctx context.Context, trust throttle.Trust, h http.Header) (p throttle.Priority, trusted bool) {
	word, peer := "", trust.Peer
	if words := h[PriorityHeader]; len(words) == 1 {
		word = words[0]
	}
	if peer != nil {
		trust.Peer = func(ctx context.Context) bool {
			trusted = peer(ctx)
			return trusted
		}
	}
	p, word = trust.Accept(ctx, word), ""
	if trusted {
		word = wordFor(p)
	}
	setHeader(h, word)
	return p, trusted
}
