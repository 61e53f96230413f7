package priority

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spillway-go/spillway/throttle"
)

// Middleware returns a middleware that gives each request the priority that trust grants to its
// baggage, as [Accept] does. It uses the baggage of the request's context. If the context has none,
// it extracts the baggage from the header. It ignores the priority of a header that names it twice,
// or that exceeds the limits of baggage.
//
// The handler gets a request whose header also has the accepted priority only, so that it can be
// forwarded. The header of the original request is unchanged. The response does not show which
// priority was accepted.
func Middleware(trust throttle.Trust) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			accepted := receive(r, trust)
			defer copyBack(r, accepted)
			next.ServeHTTP(w, accepted)
		})
	}
}

// receive returns a copy of r whose context, baggage and header have the accepted priority.
func receive(r *http.Request, trust throttle.Trust) *http.Request {
	ctx := Accept(extract(r.Context(), r.Header), trust)
	return setHeader(r.WithContext(ctx), baggage.FromContext(ctx).Member(BaggageKey).Value())
}

// extract returns ctx with the request's baggage, without the priority if the header is ambiguous.
func extract(ctx context.Context, h http.Header) context.Context {
	lines := header(h.Values(headerName))
	if len(lines) == 0 {
		return ctx
	}
	if baggage.FromContext(ctx).Len() == 0 {
		ctx = propagation.Baggage{}.Extract(ctx, propagation.HeaderCarrier(h))
	}
	if lines.ambiguous() {
		ctx, _ = setMember(ctx, "")
	}
	return ctx
}

// copyBack copies to r what handlers have set on its copy: the pattern that ServeMux matched, which
// otelhttp reports as the route, and the form, whose temporary files net/http removes.
func copyBack(r, served *http.Request) {
	if served.Pattern != r.Pattern {
		r.Pattern = served.Pattern
	}
	if served.MultipartForm != r.MultipartForm {
		r.MultipartForm = served.MultipartForm
	}
}
