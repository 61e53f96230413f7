package bucket

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MiddlewareConfig is the configuration of [Middleware]. The zero value limits all requests by one
// bucket.
type MiddlewareConfig struct {
	// Key returns the bucket of a request. Default: one bucket for all requests. If clients choose
	// the key, for example in a header, they choose the number of buckets.
	Key func(*http.Request) string
	// Cost returns the number of tokens that a request takes. Default: one.
	Cost func(*http.Request) int64
	// Silent omits the RateLimit fields, which show the limit and the remaining tokens to clients.
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
// problem in JSON. If the store answered, responses have the fields RateLimit and RateLimit-Policy
// of draft-ietf-httpapi-ratelimit-headers, unless Silent is set.
//
// Middleware panics if l is nil or did not come from [New]. The returned function panics if its
// handler is nil.
//
// It may be outside or inside a throttle's middleware, such as httpthrottle's; outside is faster.
// It reports the error of a denied request to each enclosing middleware of httpthrottle, so that a
// throttle does not count the 429 as a rejection by the backend.
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
				l.addRateLimit(w.Header(), key, d)
			}
			switch {
			case errors.Is(r.Context().Err(), context.Canceled): // the client is gone
			case err == nil && d.Allowed:
				next.ServeHTTP(w, r)
			case err == nil:
				explain(w, &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: d.RetryAfter})
				refuse(w, r, http.StatusTooManyRequests, d.RetryAfter)
			case errors.Is(err, ErrExceedsCapacity):
				explain(w, err)
				refuse(w, r, http.StatusRequestEntityTooLarge, 0)
			default:
				explain(w, err)
				refuse(w, r, http.StatusServiceUnavailable, time.Second)
			}
		})
	}
}

// addRateLimit adds the RateLimit fields. Other limiters may have added theirs before.
func (l *Limiter) addRateLimit(h http.Header, key string, d Decision) {
	name, limit := fieldString(l.config.Name), l.limitOf(key)
	window := limit.Period
	if limit.Algorithm == Continuous {
		window = time.Duration(limit.Capacity) * limit.Interval()
	}
	h.Add("RateLimit-Policy", name+";q="+fieldInteger(d.Limit)+";w="+fieldInteger(wholeSeconds(window)))
	h.Add("RateLimit", name+";r="+fieldInteger(d.Remaining)+";t="+fieldInteger(wholeSeconds(d.ResetAfter)))
}

// maxInteger is the largest integer of structured fields (RFC 9651).
const maxInteger = 999_999_999_999_999

func fieldInteger(n int64) string { return strconv.FormatInt(min(n, maxInteger), 10) }

// fieldString returns a string of structured fields. It replaces all but printable ASCII by "_".
func fieldString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			b.WriteByte('_')
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// wholeSeconds rounds up, so that a client does not retry too early.
func wholeSeconds(d time.Duration) int64 {
	return int64((max(0, d) + time.Second - 1) / time.Second)
}

// explain reports the error of a denied request to all enclosing ResponseWriters that take it: see
// httpthrottle.Middleware.
func explain(w http.ResponseWriter, err error) {
	for {
		if t, ok := w.(interface{ Tell(err error) }); ok {
			t.Tell(err)
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		w = inner.Unwrap()
	}
}

// refuse responds to a request that is not granted.
func refuse(w http.ResponseWriter, r *http.Request, status int, retryAfter time.Duration) {
	h := w.Header()
	if retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(retryAfter), 10))
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write([]byte(`{"title":"` + http.StatusText(status) + `","status":` + strconv.Itoa(status) + "}\n"))
}
