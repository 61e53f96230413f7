package httpthrottle

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// TransportConfig configures a [Transport]. Only Throttle.Name is required. Every other zero field
// means its default.
type TransportConfig struct {
	// Throttle configures the throttle of each key. Its Name is required. Its CanceledAfter is 1 s
	// by default: a host that hangs is noticed, even if the callers give up before a timeout of
	// this client. Set a longer time if healthy responses begin later, and a negative one for long
	// polls. Its Classify is called
	// for the error of a request without a response, and for every error that Answer returns: by
	// default for each status of 400 or more, 404 included. It runs before the Transport's own
	// classification.
	Throttle throttle.Config
	// Group bounds the number of throttles.
	Group throttle.GroupConfig
	// Key returns the key of a request's throttle. Requests with the same key share one throttle.
	// Default: the host of the URL in lower case, with its port if the URL names one.
	Key func(*http.Request) string
	// Priority returns the priority of a request whose context carries none. Default: Medium.
	Priority func(*http.Request) throttle.Priority
	// Answer returns the error that the throttle classifies for a response; nil is Accepted. It may
	// read the status and the header, but not the body. For a call of gRPC it may be called again,
	// when the trailer has arrived. Default: [StatusError], which returns nil for a status below
	// 400, unless a call of gRPC has failed.
	Answer func(*http.Response) error
	// Send reports whether the priority may travel to the server of a request, in the
	// [PriorityHeader]. The transport removes that header from all other requests. Send is called
	// for each request whose priority comes from the context or from Priority, redirected ones
	// included. Default: never.
	Send func(*http.Request) bool
	// Listen reports whether the transport sheds what the server of a request says that it sheds, see
	// MiddlewareConfig.Tell. Answer true for hosts of your own only: a wrong report can make the transport
	// shed up to 95 % of the requests, until it notices that the server rejects far fewer. It is called for
	// each response with a report. Default: never.
	Listen func(*http.Request) bool
	// Retry makes the transport retry requests that the host had no capacity for, with one budget
	// per host. Its Name is that of Throttle by default; its Throttle must be nil. Default nil: no
	// retries. See the section about retries.
	Retry *retry.Config
	// Repeatable reports whether a request may be sent twice. It is asked only with Retry, and only
	// about requests whose body can be sent again: those without a body, or with a GetBody, as
	// [http.NewRequest] sets it for bodies in memory. Default: the methods GET, HEAD, OPTIONS,
	// TRACE, PUT and DELETE, and requests with an Idempotency-Key.
	Repeatable func(*http.Request) bool
}

// Transport is an [http.RoundTripper] with one throttle per host. Make one with [NewTransport]. It
// is safe for concurrent use.
type Transport struct {
	base      http.RoundTripper
	config    TransportConfig // with its defaults
	throttles *protocol.Throttles
}

var errNotMade = errors.New("httpthrottle: nil or zero Transport: make one with NewTransport")

// NewTransport returns a transport that sends admitted requests with base. Nil base means
// [http.DefaultTransport]. NewTransport returns an error if a field of Throttle or Group is out of
// range.
func NewTransport(base http.RoundTripper, c TransportConfig) (*Transport, error) {
	c.Throttle.Classify = protocol.Reporting(c.Throttle.Classify)
	throttles, err := protocol.NewThrottles("httpthrottle: TransportConfig", c.Throttle, c.Group, c.Retry)
	if err != nil {
		return nil, err
	}
	if base == nil {
		base = http.DefaultTransport
	}
	if c.Key == nil {
		c.Key = hostOf
	}
	if c.Answer == nil {
		c.Answer = StatusError
	}
	if c.Repeatable == nil {
		c.Repeatable = isIdempotent
	}
	return &Transport{base: base, config: c, throttles: throttles}, nil
}

// Group returns the throttles by key, for Stats and Tune. It returns nil, a Group without throttles, for a
// nil or zero Transport.
func (t *Transport) Group() *throttle.Group {
	if t == nil || t.throttles == nil {
		return nil
	}
	return t.throttles.Group
}

// Close closes the throttles. Later requests go to the base without a throttle: they are not shed
// and not counted, and no hook is called. The first one is a warning of slog.Default. Requests in flight
// are counted to their end. Close does not touch the base, is idempotent, and always returns nil.
func (t *Transport) Close() error { return t.Group().Close() }

// CloseIdleConnections closes the idle connections of the base, as
// [http.Client.CloseIdleConnections] asks.
func (t *Transport) CloseIdleConnections() {
	if t == nil {
		return
	}
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip sends a request, or sheds it. If it sheds, nothing was sent, errors.Is(err,
// [throttle.ErrShed]) holds, and errors.As finds a *[throttle.ShedError] whose Key is the key of the
// request. Other responses and errors are those of the base. Only the response's body is wrapped.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t == nil || t.throttles == nil {
		return nil, unsent(r, errNotMade)
	}
	ctx := r.Context()
	p, set := t.priorityOf(ctx, r)
	th := t.throttles.Of(t.config.Key(r))
	if th == nil {
		return t.base.RoundTrip(withHeader(r.WithContext(ctx), t.headerFor(r, p, set)))
	}
	if retrier := t.throttles.RetrierOf(th); retrier != nil {
		return t.retrying(th, retrier, r, p, set)
	}
	call, err := th.Admit(ctx, p)
	if err != nil {
		return nil, notAdmitted(r, err)
	}
	response, _, err := t.exchange(th, call, r, p, set)
	return response, err
}

func notAdmitted(r *http.Request, err error) error {
	if ctx := r.Context(); errors.Is(err, throttle.ErrShed) {
		protocol.Report(ctx, err)
	} else if ctx.Err() != nil {
		err = context.Cause(ctx) // as http.Transport does
	}
	return unsent(r, err)
}

// unsent closes the body of a request that is not sent, as the contract of RoundTripper requires.
func unsent(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// exchange sends the request of an admitted call, and records its outcome. It also returns the error
// that the throttle classified.
func (t *Transport) exchange(
	th *throttle.Throttle, call throttle.Call, r *http.Request, p throttle.Priority, set bool,
) (response *http.Response, recorded, err error) {
	returned := false
	defer func() {
		if !returned { // the base panicked, or a function of the config did
			endPanicked(call, response)
		}
	}()
	sent, body := t.outgoing(call, r, t.headerFor(r, p, set))
	response, err = t.base.RoundTrip(sent)
	switch {
	case err != nil:
		recorded = failure(r, body, err)
		protocol.Report(r.Context(), recorded)
		call.Done(recorded)
	case response == nil:
		call.Finish(throttle.Ignored) // the base broke its contract; http.Client reports that
	default:
		if sent != r && response.Request == sent {
			response.Request = r
		}
		t.receive(th, r, response)
		recorded = t.answered(call, r, response)
	}
	returned = true
	return response, recorded, err
}

// answered records the outcome of a response and wraps its body. A call of gRPC whose code is not in
// the header has its outcome with the first byte of the body, or with the trailer if the body is empty.
func (t *Transport) answered(call throttle.Call, r *http.Request, response *http.Response) error {
	answer := t.judge(r, response)
	if answer == nil && awaitsTrailer(response) {
		response.Body = &grpcBody{ReadCloser: response.Body, call: call, transport: t, request: r, response: response}
		return nil
	}
	call.Answered(answer)
	response.Body = newResponseBody(response.Body, call, r.Method)
	return answer
}

func (t *Transport) judge(r *http.Request, response *http.Response) error {
	answer := t.config.Answer(response)
	protocol.Report(r.Context(), answer)
	return answer
}

// endPanicked ends a call that panicked, and closes the body of the response, which the caller does
// not get.
func endPanicked(call throttle.Call, response *http.Response) {
	defer call.Done(throttle.ErrPanicked)
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
}

// outgoing returns the request to send: the caller's own, or a copy if the context, the header or
// the body has to change. If reading the body may fail, outgoing also returns the body that records
// it.
func (t *Transport) outgoing(call throttle.Call, r *http.Request, header string) (*http.Request, *requestBody) {
	ctx, wrap := call.Context(), mayFail(r)
	hooked := t.config.Throttle.Hooks.Started != nil || throttle.DefaultHooks().Started != nil
	replaced := hooked && !same(r.Context(), ctx)
	if hasHeader(r.Header, header) && !replaced && !wrap {
		return r, nil
	}
	sent := withHeader(r.WithContext(ctx), header)
	if !wrap {
		return sent, nil
	}
	body := &requestBody{ReadCloser: r.Body}
	sent.Body = body
	return sent, body
}

func hostOf(r *http.Request) string {
	if r.URL == nil {
		return "" // the base returns the error
	}
	return strings.ToLower(r.URL.Host)
}

// same reports whether two contexts are equal. Contexts of types that cannot be compared are not.
func same(a, b context.Context) (equal bool) {
	defer func() { _ = recover() }() // the comparison panicked
	return a == b
}
