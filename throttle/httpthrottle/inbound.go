package httpthrottle

import (
	"context"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// verdict is what a server makes of the priority that a request asks for.
type verdict struct {
	ctx      context.Context // that carries the priority
	priority throttle.Priority
	word     string // that the request's header may go on saying, empty for none
}

// judge finds the priority of a request: the context's, else a trusted sender's, else what Priority or Default says.
func (m *middleware) judge(r *http.Request) verdict {
	ctx := r.Context()
	asked, trusted := m.asked(r)
	p, ok := carried(ctx)
	switch {
	case ok:
		return verdict{ctx: ctx, priority: p, word: wordOf(p, trusted)}
	case trusted:
		p = asked
	case m.Priority != nil:
		p = m.Priority(r)
	default:
		p = m.untrusted
	}
	return verdict{ctx: throttle.WithPriority(ctx, p), priority: p, word: wordOf(p, trusted)}
}

// asked returns the priority that a trusted sender asks for, no higher than the Ceiling. Peer is asked at most once, and
// only about a word that is a priority.
func (m *middleware) asked(r *http.Request) (p throttle.Priority, trusted bool) {
	words := r.Header[PriorityHeader]
	if len(words) != 1 || m.Trust.Peer == nil {
		return 0, false
	}
	p, err := throttle.ParsePriority(words[0])
	if err != nil || !m.Trust.Peer(peerContext{r}) {
		return 0, false
	}
	return max(p, m.Trust.Ceiling), true
}

// wordOf is what a header may say about a priority: nothing that did not come from a trusted sender.
func wordOf(p throttle.Priority, trusted bool) string {
	word := p.String()
	if _, err := throttle.ParsePriority(word); err != nil || !trusted {
		return ""
	}
	return word
}

// PeerFunc returns a Peer for MiddlewareConfig.Trust which calls trusted with the request. Decide by a
// property that the sender cannot forge: its certificate or the address of the connection, not a
// header. Nil trusted means that no sender is trusted.
//
// The returned function works only in the Trust of a [Middleware]. Elsewhere it has no request, and
// trusts no sender.
func PeerFunc(trusted func(*http.Request) bool) func(context.Context) bool {
	if trusted == nil {
		return nil
	}
	return func(ctx context.Context) bool {
		r, ok := ctx.Value(requestKey{}).(*http.Request)
		return ok && trusted(r)
	}
}

// requestKey is the context key of the request that Trust.Peer is called for.
type requestKey struct{}

// peerContext is the context that Trust.Peer is called with. It is one pointer, so it costs no allocation.
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
