package bucket

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

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
