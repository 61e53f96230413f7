package httpthrottle

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	defaultRetryAfter = time.Second
)

// MiddlewareConfig configures [Middleware]. Every field has a usable zero value.
type MiddlewareConfig struct {
	// Group holds one throttle per key: per route or per tenant, for example. Set it in place of the throttle given to [Middleware],
	// which must be nil then.
	Group *throttle.Group
	// Key says which throttle of Group a request goes through. Nil is the pattern by which [http.ServeMux] found the middleware's
	// handler; a middleware around the mux comes before any pattern, and has one throttle for all. Do not use what strangers
	// choose freely, such as the path.
	Key func(*http.Request) string
	// Trust decides which priority a request gets from its [PriorityHeader]. Its Peer is called with the request's context; use
	// [PeerFunc] if it needs the request. The zero Trust trusts no sender: every request is Medium. If an outer handler put a
	// priority into the context, the request keeps that one.
	Trust throttle.Trust
	// Priority returns the priority of a request without a trusted one. It may return any priority, High too: Trust.Ceiling does
	// not limit it. Default: Trust.Default, at most Trust.Ceiling.
	Priority func(*http.Request) throttle.Priority
	// RetryAfter is how long a shed caller is told to wait. Default 1 s. What is outside of 1 s to 1 h is brought inside. It is rounded up
	// to seconds, and up to half as many are added at random, so that those who were shed together do not come back together: to 1 s none,
	// so if many clients obey to the second, give 2 s or more.
	RetryAfter time.Duration
	// Problem answers a request that is not served, instead of the small problem+json body: it writes status and body. Retry-After
	// and Cache-Control are in the header already. For err, errors.Is(err, throttle.ErrShed) holds unless the request's context is
	// over, or Group or the throttle refused it for another reason.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
}

// Middleware returns a middleware that serves requests as t admits them, and answers those it sheds with 503 Service Unavailable,
// Retry-After and a small body of type application/problem+json. It panics if t and
// MiddlewareConfig.Group are both nil, or both set. The middleware panics if its handler is nil.
//
// What the throttle is told is [StatusError] of the final status, or [context.Canceled] if the client went away before there
// was one, when the header is written. Of a handler that returns without writing anything it is told why the request's context is over, if it
// is: a deadline that a middleware around this one has set, and whose passing it will answer, is a rejection. The request is in flight
// until the handler returns. The handler's ResponseWriter is an [http.Flusher], [http.Hijacker], [io.ReaderFrom] and [http.Pusher]
// exactly as the server's own, and [http.ResponseController] works. Its request has a context that carries the priority, and a PriorityHeader
// that says no more than was accepted.
//
// A handler whose status does not say what the throttle should learn, such as 429 for one caller who asks for too much, says it by a
// method of its ResponseWriter, Tell(err error), before it writes. Err is classified as [throttle.Throttle.Do] would: nil is Accepted,
// and what errors.Is(err, throttle.ErrShed) holds for is Ignored. A middleware within this one tells it so of the requests it sheds.
// If others may have wrapped the writer, look for the method as [http.ResponseController] does, by Unwrap.
func Middleware(t *throttle.Throttle, c MiddlewareConfig) func(http.Handler) http.Handler {
	switch {
	case t != nil && c.Group != nil:
		panic("httpthrottle: Middleware: both the throttle and MiddlewareConfig.Group are set: want one of them")
	case t == nil && c.Group == nil:
		panic("httpthrottle: Middleware: the throttle is nil: want one made with throttle.New, or MiddlewareConfig.Group")
	}
	if c.Key == nil {
		c.Key = patternOf
	}
	c.RetryAfter = max(defaultRetryAfter, min(c.RetryAfter, longestDelay))
	untrusted := c.Trust.Accept(context.Background(), "") // does not call Peer
	return func(next http.Handler) http.Handler {
		if f, ok := next.(http.HandlerFunc); next == nil || ok && f == nil {
			panic("httpthrottle: Middleware: the handler is nil: want an http.Handler")
		}
		return &middleware{MiddlewareConfig: c, throttle: t, untrusted: untrusted, next: next}
	}
}

type middleware struct {
	MiddlewareConfig
	throttle  *throttle.Throttle
	untrusted throttle.Priority // priority of a request without a trusted one
	next      http.Handler
}

// ServeHTTP serves a request, or sheds it.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, err := m.throttleOf(r)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	said := m.judge(r)
	call, err := t.Admit(said.ctx, said.priority)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	m.serve(w, r, call, said.word)
}

// throttleOf returns the throttle of a request.
func (m *middleware) throttleOf(r *http.Request) (*throttle.Throttle, error) {
	if m.Group == nil {
		return m.throttle, nil
	}
	return m.Group.Get(m.Key(r))
}

// serve lets the handler serve an admitted request.
func (m *middleware) serve(w http.ResponseWriter, r *http.Request, call throttle.Call, word string) {
	answer := &writer{ResponseWriter: w, call: call, ctx: r.Context()}
	served := r.WithContext(inside{answer})
	if !says(r.Header, word) {
		served.Header = r.Header.Clone()
		put(served.Header, word)
	}
	returned := false
	defer func() {
		handBack(r, served)
		answer.end(returned)
	}()
	m.next.ServeHTTP(answer.as(w), served)
	returned = true
}

// handBack gives r what the handlers found out about its copy: the pattern that ServeMux matched, which others report as the
// route, and the form, whose temporary files net/http removes.
func handBack(r, served *http.Request) {
	if served.Pattern != r.Pattern {
		r.Pattern = served.Pattern
	}
	if served.MultipartForm != r.MultipartForm {
		r.MultipartForm = served.MultipartForm
	}
}

// refuse answers a request that is not served.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, throttle.ErrShed):
		tellOuter(r.Context(), w, err)
	case r.Context().Err() == nil:
		status = http.StatusInternalServerError // a mistake in the program, which retries do not mend
	}
	announce(w.Header(), status, jittered(wholeSeconds(m.RetryAfter)))
	if m.Problem != nil {
		m.Problem(w, r, err)
		return
	}
	writeProblem(w, r, status)
}

// patternOf is the default key.
func patternOf(r *http.Request) string { return r.Pattern }
