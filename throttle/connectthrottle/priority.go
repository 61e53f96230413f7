package connectthrottle

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// PriorityHeader is the name of the header that carries the priority of a call. Its value is one of
// the words of [throttle.Priority.String]. Packages httpthrottle and grpcthrottle use the same name.
const PriorityHeader = httpthrottle.PriorityHeader

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
	p, trusted = protocol.Accept(ctx, trust, h[PriorityHeader])
	word := ""
	if trusted {
		word = protocol.Word(p)
	}
	setHeader(h, word)
	return p, trusted
}
