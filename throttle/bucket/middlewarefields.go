package bucket

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
