package httpthrottle

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// PriorityHeader is the name of the header that carries a priority. Its value is one of the words
// of [throttle.Priority.String].
const PriorityHeader = "Throttle-Priority"

// PeerFunc returns a Peer for MiddlewareConfig.Trust which calls trusted with the request. Decide
// by a property that the sender cannot forge: its certificate or the address of the connection, not
// a header. If trusted is nil, no sender is trusted.
//
// The returned function works only in the Trust of a [Middleware]. Elsewhere it has no request and
// returns false.
func PeerFunc(trusted func(*http.Request) bool) func(context.Context) bool {
	if trusted == nil {
		return nil
	}
	return func(ctx context.Context) bool {
		r, ok := ctx.Value(requestKey{}).(*http.Request)
		return ok && trusted(r)
	}
}

type requestKey struct{}

// peerContext is the context that Trust.Peer is called with. It is one pointer, so converting it to
// an interface does not allocate.
type peerContext struct{ request *http.Request }

func (c peerContext) Deadline() (time.Time, bool) { return c.request.Context().Deadline() }
func (c peerContext) Done() <-chan struct{}       { return c.request.Context().Done() }
func (c peerContext) Err() error                  { return c.request.Context().Err() }

func (c peerContext) Value(key any) any {
	if key == (requestKey{}) {
		return c.request
	}
	return c.request.Context().Value(key)
}

func (t *Transport) priorityOf(ctx context.Context, r *http.Request) (p throttle.Priority, set bool) {
	if p, set = protocol.Priority(ctx); set || t.config.Priority == nil {
		return p, set
	}
	return t.config.Priority(r), true
}

func (t *Transport) headerFor(r *http.Request, p throttle.Priority, set bool) string {
	if !set || t.config.Send == nil || !t.config.Send(r) {
		return ""
	}
	return protocol.Word(p)
}

// withHeader sets the PriorityHeader of r to word. Empty removes it. r must be a copy of the
// caller's request; its header is copied before it is changed.
func withHeader(r *http.Request, word string) *http.Request {
	if !hasHeader(r.Header, word) {
		r.Header = r.Header.Clone()
		setHeader(r.Header, word)
	}
	return r
}

// setHeader makes word the only value of the PriorityHeader in h. Empty removes it. A nil header
// stays nil.
func setHeader(h http.Header, word string) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return isPriorityHeader(name) })
	if word != "" && h != nil {
		h[PriorityHeader] = []string{word}
	}
}

// hasHeader reports whether word is the only value of the PriorityHeader in h. Empty means no
// value.
func hasHeader(h http.Header, word string) bool {
	values := h[PriorityHeader]
	if word == "" && len(values) > 0 || word != "" && (len(values) != 1 || values[0] != word) {
		return false // the common case: no need to look at every name
	}
	for name := range h {
		if name != PriorityHeader && isPriorityHeader(name) {
			return false
		}
	}
	return true
}

// isPriorityHeader reports whether name is the PriorityHeader in any spelling. net/http sends names
// as they are in the map.
func isPriorityHeader(name string) bool {
	return len(name) == len(PriorityHeader) && strings.EqualFold(name, PriorityHeader)
}
