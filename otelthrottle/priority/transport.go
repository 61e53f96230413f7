package priority

import "net/http"

// transport sends the priority of requests to allowed hosts.
type transport struct {
	base  http.RoundTripper
	allow func(*http.Request) bool
}

// NewTransport returns a transport that sends the priority of a request's context with the request, in the baggage header,
// if allow says so. Otherwise it sends none, and takes out one that is in the header or in the context's baggage. A nil
// allow allows no request: that you call a host does not make it yours. Allow is asked about each request, redirected ones
// included; it must be safe for concurrent use, and leave the request as it is.
//
// Other members of the header are kept. What the header says about the priority is replaced by what the context says, or
// taken out if that says nothing, as by [Inject]. The rest of the context's baggage is left to propagators. The
// caller's request is never changed. A nil base is [http.DefaultTransport].
func NewTransport(base http.RoundTripper, allow func(*http.Request) bool) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, allow: allow}
}

// RoundTrip sends a copy of r that says the priority, or r itself if there is nothing to change.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	word := ""
	if t.allow != nil && t.allow(r) {
		word = wordOf(r.Context())
	}
	// In the context as well: a propagator that comes after us takes the header from there.
	if ctx, changed := say(r.Context(), word); changed {
		r = r.WithContext(ctx)
	}
	return t.base.RoundTrip(tell(r, word))
}

// CloseIdleConnections closes the idle connections of the base, as [http.Client.CloseIdleConnections] asks.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
