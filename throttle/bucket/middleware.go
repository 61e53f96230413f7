package bucket

import (
	"context"
	"errors"
	"net/http"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// MiddlewareConfig is the configuration of [Middleware]. The zero value limits all requests by one
// bucket.
type MiddlewareConfig struct {
	// Key returns the bucket of a request. Default: one bucket for all requests. If clients choose
	// the key, for example in a header, they choose the number of buckets.
	Key func(*http.Request) string
	// Cost returns the number of tokens that a request takes. Default: one.
	Cost func(*http.Request) int64
	// Silent omits the RateLimit fields, which show the limit and the remaining tokens to clients,
	// and the name of the limiter in problems.
	Silent bool
}

// Middleware limits an HTTP handler. It responds to a request that is not granted with
//
//   - 429 Too Many Requests if the request is denied. Retry-After is in seconds, rounded up;
//   - 503 Service Unavailable for [ErrStore], with Retry-After: 1. It also does so if the deadline
//     of the request has passed, or if Cost is negative;
//   - 413 Content Too Large for [ErrExceedsCapacity]: the cost is more than the capacity of the
//     bucket.
//
// If the client has disconnected, it neither calls the handler nor responds. The body is a short
// problem in JSON, with a type that draft-ietf-httpapi-ratelimit-headers registers:
//
//   - https://iana.org/assignments/http-problem-types#quota-exceeded if the request is denied;
//   - https://iana.org/assignments/http-problem-types#temporary-reduced-capacity if the store does not
//     answer, and Config.OnFailure denies the request: with [LocalShare] the status is 429, otherwise
//     503.
//
// If the store answered, responses have the fields RateLimit and RateLimit-Policy of the same draft,
// unless Silent is set. In RateLimit, r is the number of tokens that are left, and t the time until
// there is one more. Retry-After is not shorter than t.
//
// Middleware panics if l is nil or did not come from [New]. The returned function panics if its
// handler is nil.
//
// It may be outside or inside a throttle's middleware, such as httpthrottle's; outside is faster.
// It reports the error of a denied request to each middleware of httpthrottle outside it, through the
// context of the request. So a throttle does not count the 429 as a rejection by this server, also if
// there is an [http.TimeoutHandler] between the two.
func Middleware(l *Limiter, c MiddlewareConfig) func(http.Handler) http.Handler {
	if !l.valid() {
		panic("bucket: Middleware needs a Limiter")
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("bucket: Middleware needs a Handler")
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key, cost := "", int64(1)
			if c.Key != nil {
				key = c.Key(r)
			}
			if c.Cost != nil {
				cost = c.Cost(r)
			}
			d, err := l.DecideN(r.Context(), key, cost)
			if !c.Silent && err == nil && d.Source != SourcePolicy { // a policy does not know the remaining tokens
				addRateLimit(w.Header(), l.config.Name, l.limitOf(key).Limit, d)
			}
			switch {
			case errors.Is(r.Context().Err(), context.Canceled): // the client is gone
			case err == nil && d.Allowed:
				next.ServeHTTP(w, r)
			case err == nil:
				err = &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: d.RetryAfter}
				fallthrough
			default:
				if throttle.FaultOf(err) != throttle.FaultTimeout { // else the deadline of the request has passed
					dependency.Report(r.Context(), err)
				}
				p := problemOf(d, err)
				if !c.Silent {
					p.policy = l.config.Name
				}
				p.write(w, r)
			}
		})
	}
}
