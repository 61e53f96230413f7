package priority

import "net/http"

type transport struct {
	base  http.RoundTripper
	allow func(*http.Request) bool
}

// NewTransport returns a transport that sends the priority of a request's context in the baggage
// header, if allow returns true. Otherwise it sends none, and removes one that is in the header or
// in the context's baggage. A nil allow allows no request.
//
// Allow is called for each request, redirected ones included. It must be safe for concurrent use,
// and must not change the request.
//
// Other members of the header are kept. The priority of the header is replaced by that of the
// context, or removed if the context has none, as by [Inject]. Propagators send the rest of the
// context's baggage. The caller's request is never changed. A nil base is [http.DefaultTransport].
func NewTransport(base http.RoundTripper, allow func(*http.Request) bool) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, allow: allow}
}

// RoundTrip sends a copy of r with the priority, or r itself if there is nothing to change.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	value := ""
	if t.allow != nil && t.allow(r) {
		value = valueOf(r.Context())
	}
	// Also in the context: a later propagator writes the header from it.
	if ctx, changed := setMember(r.Context(), value); changed {
		r = r.WithContext(ctx)
	}
	return t.base.RoundTrip(setHeader(r, value))
}

// CloseIdleConnections closes the idle connections of the base, if it has such a method.
// [http.Client.CloseIdleConnections] calls it.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
