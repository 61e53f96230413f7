package httpthrottle

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// maxCanceledAfter is the upper bound of CanceledAfter, here and in a TransportConfig.
const maxCanceledAfter = time.Hour

// MiddlewareConfig configures [Middleware]. Every field has a usable zero value.
type MiddlewareConfig struct {
	// Group holds one throttle per key: per route or per tenant, for example. Set it in place of
	// the throttle given to [Middleware], which must be nil then. After [throttle.Group.Close] requests
	// are served without a throttle: they are not shed and not counted.
	Group *throttle.Group
	// Key returns the key in Group of a request's throttle. Default: the pattern that matched in
	// [http.ServeMux]. A middleware around the mux runs before any pattern matches, so there all
	// requests share one key. Do not use values that untrusted callers choose freely, such as the
	// path.
	Key func(*http.Request) string
	// Exempt reports whether a request is served whatever the throttle decides. Stats.Exempt of the
	// throttle counts it, and nothing else does. Default [HealthCheck]. Use it for health checks only: see
	// package protocol.
	Exempt func(*http.Request) bool
	// Trust decides which priority a request gets from its [PriorityHeader]. Its Peer is called
	// with the request's context; use [PeerFunc] if it needs the request. The zero Trust trusts no
	// sender: every request is Medium. If an outer handler put a priority into the context, the
	// request keeps that one.
	Trust throttle.Trust
	// Priority returns the priority of a request without a trusted one. It may return any priority,
	// High too: Trust.Ceiling does not limit it. Default: Trust.Default, at most Trust.Ceiling.
	Priority func(*http.Request) throttle.Priority
	// Tenant returns on whose behalf a request is served: see [throttle.WithTenant]. Use what an outer
	// handler has authenticated, not a value that callers choose freely. The handler's request has the
	// tenant in its context, so throttles for other backends are fair too. Default: the tenant of the
	// request's context, if an outer handler put one there.
	Tenant func(*http.Request) string
	// RetryAfter is the delay in the Retry-After header of a shed request, 1 s to 1 h. Default 1 s.
	// A value out of range becomes the nearest bound.
	//
	// The header has whole seconds, rounded up. From 2 s on, up to half as many seconds are added
	// at random, so that callers that were shed together do not return together.
	RetryAfter time.Duration
	// CanceledAfter makes requests count as rejected whose client disconnects after at least this
	// long, before the header of the response. Their fault is [throttle.FaultCanceled]. A client
	// that disconnects earlier says nothing about this server: its request is ignored. The time
	// begins with the request, and again with each read of its body. So a slow upload does not
	// count. Default 1 s, at most 1 h; a longer value becomes 1 h. A negative value is off.
	//
	// Set about twice the time of the slowest healthy requests if they take longer, or if clients give
	// up sooner. Leave Config.CanceledAfter of the throttle zero: its time does not begin again with the
	// body. Turn it off for long polls, which wait before the header: give their routes a Middleware of
	// their own. Streams whose header was written, such as server-sent events and WebSockets, are not
	// affected.
	CanceledAfter time.Duration
	// Problem writes status and body of the answer to a request that is not served. Retry-After and
	// Cache-Control are in the header already. errors.Is(err, throttle.ErrShed) holds if the
	// request was shed. Otherwise its context has ended, or the throttle refused its priority. err may
	// name the throttle and its key: do not send its text to callers. Default: a small body of type
	// application/problem+json.
	Problem func(w http.ResponseWriter, r *http.Request, err error)
	// Tell reports whether the response to a request says what this server sheds, in the header
	// [protocol.LoadHeader]. Load balancers such as Envoy read it too. It shows how full the server is, so
	// do not send it to strangers. Default: to the clients that Trust.Peer accepts. In ModeShadow and
	// ModeOff nothing is sent.
	Tell func(*http.Request) bool
	// LowerRetries gives a request one priority lower if its sender marks it as a retry with the
	// [AttemptHeader], so that first attempts are served first. It does not apply to a priority that
	// a trusted sender names: a [Transport] lowers that itself.
	LowerRetries bool
	// RetryHooks are those of which Arrived is called for each request that its sender marks as a
	// retry. Default: retry.DefaultHooks, when Middleware is called.
	RetryHooks retry.Hooks
}

// Middleware returns a middleware that serves the requests which t admits. A shed request gets 503
// Service Unavailable, Retry-After and a small body of type application/problem+json. Neither names
// the throttle or its key. It sheds while requests wait too long for a processor, see
// [throttle.Config.ProcessorWait], and if the throttle does. All requests share the throttle t; for one per route or tenant use
// MiddlewareConfig.Group.
//
// Middleware panics if t and MiddlewareConfig.Group are both nil, or both set. The returned
// function panics if the handler is nil.
//
// The throttle records the outcome when the handler writes the header:
//
//   - [StatusError] of the final status,
//   - [context.DeadlineExceeded] if the deadline of the request's context has passed, which is a
//     rejection. So [http.TimeoutHandler] may be around or inside the middleware.
//   - [context.Canceled] if the client disconnected before, see MiddlewareConfig.CanceledAfter.
//
// If the handler returns without writing, the outcome is recorded then, in the same way.
//
// The request is in flight until the handler returns. The handler's ResponseWriter is an
// [http.Flusher] and [http.Hijacker] exactly if the server's own is, and [http.ResponseController]
// works. It always has ReadFrom, CloseNotify, and Push, which returns [http.ErrNotSupported] if the
// server's own writer cannot push. The handler's request has a context with the priority. Its
// PriorityHeader has at most the priority that was accepted.
//
// [StatusError] may be wrong about a status. For example, 429 to one caller over a limit of its own
// is not a lack of capacity. The ResponseWriter has a method Tell(err error) for that; call it
// before you write. The throttle classifies err as [throttle.Throttle.Do] does: nil is Accepted,
// and an error for which errors.Is(err, throttle.ErrShed) holds is Ignored. A middleware inside
// this one calls Tell for every request that it sheds. If another handler may have wrapped the
// writer, look for the method through Unwrap, as [http.ResponseController] does.
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
	if c.Exempt == nil {
		c.Exempt = HealthCheck
	}
	if peer := c.Trust.Peer; c.Tell == nil && peer != nil {
		c.Tell = func(r *http.Request) bool { return peer(peerContext{r}) }
	}
	c.CanceledAfter = min(check.Default(c.CanceledAfter, protocol.CanceledAfter), maxCanceledAfter)
	c.RetryAfter = max(protocol.RetryAfter, min(c.RetryAfter, protocol.MaxDelay))
	if c.RetryHooks.Arrived == nil {
		c.RetryHooks = retry.DefaultHooks()
	}
	receiver, loads := receiverOf(t, &c), &protocol.Loads{}
	return func(next http.Handler) http.Handler {
		if f, ok := next.(http.HandlerFunc); next == nil || ok && f == nil {
			panic("httpthrottle: Middleware: the handler is nil: want an http.Handler")
		}
		return &middleware{MiddlewareConfig: c, receiver: receiver, loads: loads, base: time.Now(), next: next}
	}
}

type middleware struct {
	MiddlewareConfig
	receiver *protocol.Receiver[*http.Request]
	loads    *protocol.Loads
	base     time.Time // of the times of its requests
	next     http.Handler
}

func receiverOf(t *throttle.Throttle, c *MiddlewareConfig) *protocol.Receiver[*http.Request] {
	throttles, key := &protocol.Throttles{Group: c.Group}, c.Key
	throttleOf := func(r *http.Request) *throttle.Throttle {
		if t != nil {
			return t
		}
		return throttles.Of(key(r))
	}
	return &protocol.Receiver[*http.Request]{
		Throttle: withContext(throttleOf), Exempt: withContext(c.Exempt), Priority: withContext(c.Priority),
		Tenant: withContext(c.Tenant), LowerRetries: c.LowerRetries, Arrived: c.RetryHooks.Arrived,
	}
}

// withContext returns f with a context that it does not need. It returns nil for nil.
func withContext[T any](f func(*http.Request) T) func(context.Context, *http.Request) T {
	if f == nil {
		return nil
	}
	return func(_ context.Context, r *http.Request) T { return f(r) }
}

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, trusted := protocol.Accept(peerContext{r}, m.Trust, r.Header[PriorityHeader])
	header := ""
	if trusted {
		header = protocol.Word(p)
	}
	ctx, t, p := m.receiver.Receive(r.Context(), r, p, trusted, attemptOf(r.Header))
	if t == nil {
		served := withHeader(r.WithContext(ctx), header)
		defer copyResults(r, served)
		m.next.ServeHTTP(w, served)
		return
	}
	if r.ProtoMajor > 1 {
		throttle.YieldProcessor()
	}
	load := m.tellLoad(t, r) // calls the user's code, so it is before the call
	call, err := t.AdmitLocal(ctx, p)
	if err != nil {
		load.set(w.Header(), true)
		m.refuse(w, r, err)
		return
	}
	m.serve(w, r, call, header, load)
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, call throttle.Call, header string, load loadHeader) {
	wrapped := &writer{ResponseWriter: w, call: call, load: load, expects: len(r.Header["Expect"]) > 0}
	wrapped.request.Context = r.Context()
	served := withHeader(r.WithContext(handlerContext{wrapped}), header)
	served.Body = wrapped.waited.start(r.Body, m.base, m.CanceledAfter)
	returned := false
	defer func() {
		copyResults(r, served)
		wrapped.end(returned)
	}()
	m.next.ServeHTTP(wrapped.as(w), served)
	returned = true
}

// copyResults copies to r what handlers set in its copy. One is the pattern that ServeMux matched,
// which outer handlers report as the route. The other is the form, whose temporary files net/http
// removes.
func copyResults(r, served *http.Request) {
	if served.Pattern != r.Pattern {
		r.Pattern = served.Pattern
	}
	if served.MultipartForm != r.MultipartForm {
		r.MultipartForm = served.MultipartForm
	}
}

func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, throttle.ErrShed):
		reportOutside(r.Context(), w, err)
	case r.Context().Err() == nil:
		status = http.StatusInternalServerError // a mistake in the program: a retry does not help
	}
	seconds := wholeSeconds(m.RetryAfter)
	setRetryHeaders(w.Header(), status, seconds+rand.IntN(seconds/2+1))
	if m.Problem != nil {
		m.Problem(w, r, err)
		return
	}
	writeProblem(w, r, status)
}

// HealthCheck reports whether the path of a request is one of /healthz, /livez, /readyz, /health and
// /ping.
func HealthCheck(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz", "/health", "/ping":
		return true
	}
	return false
}

func patternOf(r *http.Request) string { return r.Pattern }
