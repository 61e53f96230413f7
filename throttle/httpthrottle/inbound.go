package httpthrottle

import (
	"context"
	"net/http"

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
		p = max(m.Default, m.Ceiling)
	}
	return verdict{ctx: throttle.WithPriority(ctx, p), priority: p, word: wordOf(p, trusted)}
}

// asked returns the priority that a trusted sender asks for, no higher than the Ceiling. Peer is asked at most once, and
// only about a word that is a priority.
func (m *middleware) asked(r *http.Request) (p throttle.Priority, trusted bool) {
	words := r.Header[PriorityHeader]
	if len(words) != 1 || m.Peer == nil {
		return 0, false
	}
	p, err := throttle.ParsePriority(words[0])
	if err != nil || !m.Peer(r) {
		return 0, false
	}
	return max(p, m.Ceiling), true
}

// wordOf is what a header may say about a priority: nothing that did not come from a trusted sender.
func wordOf(p throttle.Priority, trusted bool) string {
	word := p.String()
	if _, err := throttle.ParsePriority(word); err != nil || !trusted {
		return ""
	}
	return word
}
