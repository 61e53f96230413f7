package bucket

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

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
				if d.Source != SourcePolicy {
					go l.giveBack(context.Background(), key, d.Granted, false)
				}
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

// addRateLimit adds the fields RateLimit-Policy and RateLimit. Other limiters may have added theirs
// before. The letters are those of draft-ietf-httpapi-ratelimit-headers-11. A preview of a later
// draft has others, so they are nowhere else.
func addRateLimit(h http.Header, name string, limit Limit, d Decision) {
	name = fieldString(name)
	h.Add("RateLimit-Policy", name+";q="+fieldInteger(d.Limit)+";w="+fieldSeconds(windowOf(limit)))
	h.Add("RateLimit", name+";r="+fieldInteger(d.Remaining)+";t="+fieldSeconds(untilNext(limit, d)))
}

func windowOf(limit Limit) time.Duration {
	if limit.Algorithm == Continuous {
		return time.Duration(limit.Capacity) * limit.Interval()
	}
	return limit.Period
}

// untilNext returns the time until the bucket has one more token than the decision says; 0 if it is
// full. It is at most RetryAfter of a denial, because Retry-After must not be before the end of t.
func untilNext(limit Limit, d Decision) time.Duration {
	next := max(0, d.ResetAfter)
	if interval := limit.Interval(); limit.Algorithm == Continuous && next > interval {
		next = (next-1)%interval + 1
	}
	if !d.Allowed {
		next = min(next, d.RetryAfter)
	}
	return next
}

// maxInteger is the largest integer of structured fields (RFC 9651).
const maxInteger = 999_999_999_999_999

func fieldInteger(n int64) string { return strconv.FormatInt(min(n, maxInteger), 10) }

// fieldSeconds rounds up, so that a client does not retry too early.
func fieldSeconds(d time.Duration) string {
	return fieldInteger(int64((max(0, d) + time.Second - 1) / time.Second))
}

// fieldString returns a string of structured fields, which is a string of JSON too. It replaces all
// but printable ASCII by "_".
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

// Types and titles of problems, as draft-ietf-httpapi-ratelimit-headers registers them.
const (
	problemTypes = "https://iana.org/assignments/http-problem-types#"

	quotaExceeded   = problemTypes + "quota-exceeded"
	reducedCapacity = problemTypes + "temporary-reduced-capacity"

	quotaExceededTitle   = "Request cannot be satisfied as assigned quota has been exceeded"
	reducedCapacityTitle = "Request cannot be satisfied due to temporary server capacity constraints"
)

// problem is the response to a request that is not granted (RFC 9457).
type problem struct {
	kind       string // the type; "" for about:blank, which is the default
	title      string // of the type; that of about:blank is the text of the status
	policy     string // the name of the limiter, as in RateLimit-Policy; "" to leave it out
	status     int
	retryAfter time.Duration
}

// problemOf returns the problem of a request that ended with err, which is not nil.
func problemOf(d Decision, err error) problem {
	p := problem{status: http.StatusServiceUnavailable, retryAfter: time.Second}
	switch {
	case errors.Is(err, ErrExceedsCapacity):
		return problem{status: http.StatusRequestEntityTooLarge}
	case errors.Is(err, ErrDenied):
		p = problem{quotaExceeded, quotaExceededTitle, "", http.StatusTooManyRequests, d.RetryAfter}
		if d.Source == SourcePolicy {
			p.kind, p.title = reducedCapacity, reducedCapacityTitle
		}
	case errors.Is(err, ErrStore):
		p.kind, p.title = reducedCapacity, reducedCapacityTitle
	}
	return p
}

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if p.retryAfter > 0 {
		h.Set("Retry-After", fieldSeconds(p.retryAfter))
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(p.body())
	}
}

func (p *problem) body() []byte {
	b := []byte("{")
	title := p.title
	if p.kind == "" {
		title = http.StatusText(p.status)
	} else {
		b = append(b, `"type":"`+p.kind+`",`...)
	}
	b = append(b, `"title":"`+title+`","status":`+strconv.Itoa(p.status)...)
	if p.kind != "" && p.policy != "" {
		b = append(b, `,"violated-policies":[`+fieldString(p.policy)+`]`...)
	}
	return append(b, "}\n"...)
}
