package priority

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spillway-go/spillway/throttle"
)

// Middleware returns a middleware that gives each request the priority that trust grants to its baggage, as [Accept] does.
// It takes the baggage of the request's context, or extracts it from the header if the context has none. A header that
// names the priority twice, or is beyond the limits of baggage, counts as one that does not name it.
//
// The handler gets a request whose header, too, says no more than was accepted, so that it can be forwarded. The request
// that the middleware was given keeps its header. The sender is never told what became of the priority.
func Middleware(trust throttle.Trust) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			accepted := receive(r, trust)
			defer handBack(r, accepted)
			next.ServeHTTP(w, accepted)
		})
	}
}

// receive returns a copy of r with the priority that was accepted, and nothing that was not.
func receive(r *http.Request, trust throttle.Trust) *http.Request {
	ctx := Accept(extract(r.Context(), r.Header), trust)
	return tell(r.WithContext(ctx), baggage.FromContext(ctx).Member(BaggageKey).Value())
}

// extract returns ctx with the request's baggage, without the priority's member if the header is garbled.
func extract(ctx context.Context, h http.Header) context.Context {
	lines := header(h.Values(headerName))
	if len(lines) == 0 {
		return ctx
	}
	if baggage.FromContext(ctx).Len() == 0 {
		ctx = propagation.Baggage{}.Extract(ctx, propagation.HeaderCarrier(h))
	}
	if lines.garbled() {
		ctx, _ = say(ctx, "")
	}
	return ctx
}

// handBack gives r what the handlers found out about its copy: the pattern that ServeMux matched, which otelhttp reports
// as the route, and the form, whose temporary files net/http removes.
func handBack(r, served *http.Request) {
	if served.Pattern != r.Pattern {
		r.Pattern = served.Pattern
	}
	if served.MultipartForm != r.MultipartForm {
		r.MultipartForm = served.MultipartForm
	}
}
