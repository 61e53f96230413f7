package bucket

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MiddlewareConfig says how requests are limited.
type MiddlewareConfig struct {
	// Key says which bucket a request takes from. Nil: all take from one. A key that strangers choose, such as a header, makes as many
	// buckets as they like.
	Key func(*http.Request) string
	// Cost is how many tokens a request takes. Nil: one.
	Cost func(*http.Request) int64
	// Silent leaves out the RateLimit fields, which tell callers of the limit and of what is left of it.
	Silent bool
}

// Middleware limits a handler. A request that is denied is answered with 429, Retry-After in whole seconds, rounded up, and a small problem in
// JSON; one that the policy denies because the store gave no answer with 503; one that costs more than the bucket holds with 413.
// Others are told what is left by the fields RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers has them. Middleware panics if
// there is no limiter, which no program gets past its first start.
//
// It can stand outside of a throttle's middleware, such as httpthrottle's, or inside: the ResponseWriters around it that have a method
// Tell(error) are told why a request is refused, so that a 429 is not taken for a lack of capacity. Outside is cheaper.
func Middleware(l *Limiter, c MiddlewareConfig) func(http.Handler) http.Handler {
	if !l.made() {
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
			if !c.Silent && err == nil && d.Source != SourcePolicy { // which does not know what is left
				l.tell(w.Header(), key, d)
			}
			switch {
			case errors.Is(r.Context().Err(), context.Canceled): // nobody reads an answer
			case err == nil && d.Allowed:
				next.ServeHTTP(w, r)
			case err == nil:
				explain(w, &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: d.RetryAfter})
				refuse(w, r, http.StatusTooManyRequests, d.RetryAfter)
			case cost > d.Limit && d.Limit > 0:
				explain(w, err)
				refuse(w, r, http.StatusRequestEntityTooLarge, 0)
			default:
				explain(w, err)
				refuse(w, r, http.StatusServiceUnavailable, time.Second)
			}
		})
	}
}

// tell adds the RateLimit fields to those of other limits: so many tokens in so many seconds.
func (l *Limiter) tell(h http.Header, key string, d Decision) {
	name, limit := fieldString(l.config.Name), l.limitOf(key)
	window := limit.Period
	if limit.Algorithm == Continuous {
		window = time.Duration(limit.Capacity) * limit.Interval()
	}
	h.Add("RateLimit-Policy", name+";q="+fieldInteger(d.Limit)+";w="+fieldInteger(wholeSeconds(window)))
	h.Add("RateLimit", name+";r="+fieldInteger(d.Remaining)+";t="+fieldInteger(wholeSeconds(d.ResetAfter)))
}

// highestInteger is that of structured fields.
const highestInteger = 999_999_999_999_999

func fieldInteger(n int64) string { return strconv.FormatInt(min(n, highestInteger), 10) }

// fieldString writes a string as structured fields have it, which know printable ASCII only.
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

// wholeSeconds rounds up, so that who comes back after them does not come too early.
func wholeSeconds(d time.Duration) int64 {
	return int64((max(0, d) + time.Second - 1) / time.Second)
}

// explain tells those who watch the answer from outside what it means. They have put their writers around w, one around another.
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

// refuse answers a request that is not served.
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
