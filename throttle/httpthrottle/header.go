package httpthrottle

import (
	"context"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/throttle"
)

// PriorityHeader is the name of the header in which a priority travels, as one of the words of [throttle.Priority.String].
const PriorityHeader = "Throttle-Priority"

// put makes the header say the word about the priority, and nothing else. An empty word takes it out. A nil header stays nil.
func put(h http.Header, word string) {
	for name := range h {
		if namesPriority(name) {
			delete(h, name)
		}
	}
	if word != "" && h != nil {
		h[PriorityHeader] = []string{word}
	}
}

// says reports whether the header says just that word about the priority, or nothing if it is empty.
func says(h http.Header, word string) bool {
	said := h[PriorityHeader]
	if word == "" && len(said) > 0 || word != "" && (len(said) != 1 || said[0] != word) {
		return false // as most do: the rest needs a walk
	}
	for name := range h {
		if name != PriorityHeader && namesPriority(name) {
			return false
		}
	}
	return true
}

// namesPriority reports whether a field is the PriorityHeader, however it is spelt: net/http sends names as they are in the map.
func namesPriority(name string) bool {
	return len(name) == len(PriorityHeader) && strings.EqualFold(name, PriorityHeader)
}

// saying makes a request, which must be a copy, say the word about the priority. Its header is not the copy's alone, and is copied if it
// says anything else.
func saying(r *http.Request, word string) *http.Request {
	if !says(r.Header, word) {
		r.Header = r.Header.Clone()
		put(r.Header, word)
	}
	return r
}

// word is what to send about the priority to where the request goes: nothing if nobody has said what it is.
func (t *Transport) word(r *http.Request, p throttle.Priority, known bool) string {
	if !known || t.send == nil || !t.send(r) {
		return ""
	}
	p, _ = throttle.ClampPriority(p, t.tiers)
	return p.String()
}

// priorityOf returns the priority of a request to send, and whether anybody has said what it is.
func (t *Transport) priorityOf(ctx context.Context, r *http.Request) (p throttle.Priority, known bool) {
	if p, known = carried(ctx); known {
		return p, true
	}
	if t.priority == nil {
		return throttle.Medium, false
	}
	return t.priority(r), true
}

// carried returns the priority that ctx carries, if it carries one.
func carried(ctx context.Context) (throttle.Priority, bool) {
	p := throttle.PriorityFromContext(ctx, throttle.High)
	return p, p != throttle.High || throttle.PriorityFromContext(ctx, throttle.Low) == throttle.High
}
