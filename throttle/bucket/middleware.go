package bucket

import (
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
// Others are told what is left by the fields RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers has them.
func Middleware(l *Limiter, c MiddlewareConfig) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key, cost := "", int64(1)
			if c.Key != nil {
				key = c.Key(r)
			}
			if c.Cost != nil {
				cost = c.Cost(r)
			}
			d, err := l.AllowN(r.Context(), key, cost)
			if !c.Silent && err == nil {
				l.tell(w.Header(), key, d)
			}
			switch {
			case r.Context().Err() != nil: // nobody reads an answer
			case err == nil && d.Allowed:
				next.ServeHTTP(w, r)
			case err == nil:
				refuse(w, r, http.StatusTooManyRequests, d.RetryAfter)
			case cost > d.Limit && d.Limit > 0:
				refuse(w, r, http.StatusRequestEntityTooLarge, 0)
			default:
				refuse(w, r, http.StatusServiceUnavailable, time.Second)
			}
		})
	}
}

// tell sets the RateLimit fields.
func (l *Limiter) tell(h http.Header, key string, d Decision) {
	name := fieldString(l.config.Name)
	h.Set("RateLimit-Policy", name+";q="+strconv.FormatInt(d.Limit, 10)+";w="+strconv.FormatInt(wholeSeconds(l.limitOf(key).Period), 10))
	h.Set("RateLimit", name+";r="+strconv.FormatInt(d.Remaining, 10)+";t="+strconv.FormatInt(wholeSeconds(d.ResetAfter), 10))
}

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
