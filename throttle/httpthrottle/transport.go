package httpthrottle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/throttle"
)

// TransportConfig says how a [Transport] behaves. Every zero field means its default; only the Name in Throttle is required.
type TransportConfig struct {
	// Throttle is the Config of each key's throttle. Its Classify is asked about every response and error that does not stand for
	// a success, as in [throttle.Config], and before the Transport has an opinion of its own.
	Throttle throttle.Config
	// Group bounds the throttles.
	Group throttle.GroupConfig
	// Key says which throttle a request goes through. Nil is the host of its URL in lower case, with the port if it names one.
	Key func(*http.Request) string
	// Priority is asked about requests whose context carries none. Nil is Medium.
	Priority func(*http.Request) throttle.Priority
	// Answer says what a response tells about the backend, as the error that a function given to [throttle.Throttle.Do] would
	// return. It may look at the status and the header; the body is the caller's. Nil is [StatusError].
	Answer func(*http.Response) error
	// Send reports whether the server that the request goes to may know how much it matters: then the priority travels in the
	// [PriorityHeader]. To any other server it does not, even if the request has such a header of its own: it is taken out. Send
	// is asked about each request whose priority the context or Priority has named, redirected ones included. Nil is never.
	Send func(*http.Request) bool
}

// Transport is an [http.RoundTripper] that sends requests through a throttle per host. Make one with [NewTransport]; it is
// safe for concurrent use.
type Transport struct {
	base     http.RoundTripper
	group    *throttle.Group
	key      func(*http.Request) string
	priority func(*http.Request) throttle.Priority
	answer   func(*http.Response) error
	send     func(*http.Request) bool
	tiers    int  // how many priorities there are
	hooked   bool // a Started hook may replace the context
}

// errNotMade is the error of requests to a Transport that did not come from NewTransport.
var errNotMade = errors.New("httpthrottle: nil or zero Transport: make one with NewTransport")

// NewTransport returns a transport that sends what it admits with base, which is [http.DefaultTransport] if nil. It fails if
// a field of the throttle's Config or of GroupConfig is out of range.
func NewTransport(base http.RoundTripper, c TransportConfig) (*Transport, error) {
	config := c.Throttle
	config.Hooks = throttle.Hooks{} // nobody shall hear of the throttle that only tries the Config out
	if _, err := throttle.New(config); err != nil {
		return nil, fmt.Errorf("httpthrottle: TransportConfig.Throttle: %w", err)
	}
	config.Hooks, config.Classify = c.Throttle.Hooks, throttle.First(ignorePanic, c.Throttle.Classify, ignoreOwnFault)
	group, err := throttle.NewGroup(func(string) throttle.Config { return config }, c.Group)
	if err != nil {
		return nil, fmt.Errorf("httpthrottle: TransportConfig.Group: %w", err)
	}
	t := &Transport{
		base: base, group: group, key: c.Key, priority: c.Priority, answer: c.Answer, send: c.Send,
		tiers: config.Priorities, hooked: config.Hooks.Started != nil,
	}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.key == nil {
		t.key = hostOf
	}
	if t.answer == nil {
		t.answer = StatusError
	}
	if t.tiers == 0 {
		t.tiers = throttle.StandardPriorities
	}
	return t, nil
}

// Group returns the throttles, by key: to look at one's Stats, or to Tune it.
func (t *Transport) Group() *throttle.Group { return t.group }

// Close closes the throttles. Requests that come later are sent to the base without one: none is shed, counted or told of. Those in flight
// are counted and told of to their end. It leaves the base alone, is idempotent, and always returns nil.
func (t *Transport) Close() error { return t.group.Close() }

// CloseIdleConnections closes the idle connections of the base, as [http.Client.CloseIdleConnections] asks.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip sends a request, or sheds it: then errors.Is(err, [throttle.ErrShed]) holds, and nothing was sent. Response and error are
// the base's own; only the response's body is one that knows when it ends.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t == nil || t.group == nil {
		return nil, unsent(r, errNotMade)
	}
	ctx := r.Context()
	p, known := t.priorityOf(ctx, r)
	word := t.word(r, p, known)
	th, err := t.group.Get(t.key(r))
	if err != nil { // closed: a program that is on its way out still makes requests
		if !says(r.Header, word) {
			r = saying(r.WithContext(ctx), word)
		}
		return t.base.RoundTrip(r)
	}
	call, err := th.Admit(ctx, p)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, throttle.ErrShed) {
			err = context.Cause(ctx) // as http.Transport has it
		}
		return nil, unsent(r, err)
	}
	return t.exchange(call, r, word)
}

// unsent closes the body of a request that is not sent, as the contract of RoundTripper wants.
func unsent(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// exchange sends the request of an admitted call, and tells the call what came of it.
func (t *Transport) exchange(call throttle.Call, r *http.Request, word string) (response *http.Response, err error) {
	returned := false
	defer func() {
		if !returned { // the base panicked, or Answer or Classify did
			abandon(call, response)
		}
	}()
	sent, body := t.outgoing(call, r, word)
	response, err = t.base.RoundTrip(sent)
	switch {
	case err != nil:
		call.Done(failure(r, body, err))
	case response == nil:
		call.Finish(throttle.Ignored) // the base broke its contract, which http.Client will say
	default:
		if sent != r && response.Request == sent {
			response.Request = r
		}
		call.Answered(t.answer(response))
		response.Body = watch(response.Body, call, r.Method)
	}
	returned = true
	return response, err
}

// abandon ends a call that panicked. If there is a response, nobody will ever get it.
func abandon(call throttle.Call, response *http.Response) {
	defer call.Done(throttle.ErrPanicked)
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
}

// outgoing returns the request to send: the caller's own, unless something has to be different. A body whose errors are the
// caller's is returned as well.
func (t *Transport) outgoing(call throttle.Call, r *http.Request, word string) (*http.Request, *upload) {
	ctx, stream := call.Context(), streams(r)
	replaced := t.hooked && !same(r.Context(), ctx)
	if says(r.Header, word) && !replaced && !stream {
		return r, nil
	}
	sent := saying(r.WithContext(ctx), word)
	if !stream {
		return sent, nil
	}
	body := &upload{ReadCloser: r.Body}
	sent.Body = body
	return sent, body
}

// hostOf is the default key.
func hostOf(r *http.Request) string {
	if r.URL == nil {
		return "" // the base will say what is wrong with it
	}
	return strings.ToLower(r.URL.Host)
}

// same reports whether two contexts are one. They may be of a type that cannot be compared.
func same(a, b context.Context) (equal bool) {
	defer func() { _ = recover() }() // then they are not
	return a == b
}
