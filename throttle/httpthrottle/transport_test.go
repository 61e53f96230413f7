package httpthrottle_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestNewTransport_errors(t *testing.T) {
	_, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{Group: throttle.GroupConfig{Max: -1}})
	for _, want := range []string{"httpthrottle: TransportConfig.Throttle: throttle: Config.Name", "httpthrottle: TransportConfig.Group: throttle: GroupConfig.Max is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want an error with %q", err, want)
		}
	}
}

// The error of a request that is not sent says why. Its body is closed, and no outcome is counted.
func TestTransport_NotSent(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer needed"))
	var none *httpthrottle.Transport
	refusing := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
	shedding := func(c *retry.Config) *httpthrottle.Transport {
		transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}, Retry: c})
		overload(t, throttleOf(t, transport, host))
		return transport
	}
	retried := shedding(often())
	for name, c := range map[string]struct {
		transport *httpthrottle.Transport
		ctx       context.Context
		want      string
		is        error
	}{
		"shed":           {shedding(nil), t.Context(), `backend for "backend.example" shed a call`, throttle.ErrShed},
		"shed, retried":  {retried, t.Context(), `backend for "backend.example" shed a call`, throttle.ErrShed},
		"ended":          {refusing, over, "no longer needed", context.Cause(over)},
		"wrong priority": {refusing, throttle.WithPriority(t.Context(), 99), "priority 99 is out of range", nil},
		"nil":            {none, t.Context(), "httpthrottle: nil or zero Transport: make one with NewTransport", nil},
		"zero":           {&httpthrottle.Transport{}, t.Context(), "httpthrottle: nil or zero Transport: make one with NewTransport", nil},
	} {
		counted := func() (all string, n uint64) {
			if strings.Contains(c.want, "NewTransport") {
				return "", 0
			}
			th := throttleOf(t, c.transport, host)
			return books(th), shed(th)
		}
		before, sheds := counted()
		body := &trackedBody{Reader: strings.NewReader("text")}
		response, err := c.transport.RoundTrip(request(c.ctx, http.MethodPost, body))
		if response != nil || err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, %v want %v: %s", name, response, err, c.is, c.want)
		}
		if c.is == throttle.ErrShed {
			sheds++
			var refused *throttle.ShedError
			var temporary interface{ Temporary() bool }
			equal(t, name+": key", errors.As(err, &refused) && refused.Key == host && refused.Throttle == "backend", true)
			equal(t, name+": temporary", errors.As(err, &temporary) && temporary.Temporary(), false)
		}
		equal(t, name+": body closed", body.closed, 1)
		after, n := counted()
		equal(t, name+": books", after, before)
		equal(t, name+": shed", n, sheds)
		if c.transport != none {
			_, err = c.transport.RoundTrip((&http.Request{URL: &url.URL{Host: host}}).WithContext(c.ctx)) //nolint:bodyclose // there is none
			equal(t, name+": without a body", err != nil, true)
		}
	}
	equal(t, "calls that were not sent", statsOf(t, retried).Calls[0], 2)
}

func TestTransport_AfterClose(t *testing.T) {
	transport := newTransport(t, answers(200, "text"), httpthrottle.TransportConfig{})
	response := ask(t, transport, get(t.Context()))
	equal(t, "Close", errors.Join(transport.Close(), transport.Close()), nil)
	text, _ := io.ReadAll(response.Body)
	equal(t, "text of the request in flight", string(text), "text")
	r := get(t.Context())
	r.Header[httpthrottle.PriorityHeader] = []string{"high"}
	response = ask(t, transport, r)
	text, _ = io.ReadAll(response.Body)
	equal(t, "text after Close", string(text), "text")
	equal(t, "the untrusted header after Close", len(response.Request.Header), 0)
	equal(t, "the caller's own header", len(r.Header), 1)
}

func TestTransport_Key(t *testing.T) {
	method := func(r *http.Request) string { return r.Method }
	for address, want := range map[string]string{
		"http://Backend.Example/a": "backend.example", "https://backend.example:8443/": "backend.example:8443", "http://[::1]:80/": "[::1]:80", "http://": "",
	} {
		for want, key := range map[string]func(*http.Request) string{want: nil, "GET": method} {
			transport := newTransport(t, answers(200, ""), httpthrottle.TransportConfig{Key: key})
			u, _ := url.Parse(address)
			read(t, transport, &http.Request{Method: "GET", URL: u, Header: http.Header{}})
			equal(t, address, books(throttleOf(t, transport, want)), "1 medium accepted/none")
		}
	}
	lost := newTransport(t, fails(errPlain), httpthrottle.TransportConfig{})
	_, _ = lost.RoundTrip(&http.Request{}) //nolint:bodyclose // there is none
	equal(t, "no URL", books(throttleOf(t, lost, "")), "1 medium ignored/bad")
}

// Answer and Classify are the user's, and asked first. A base that breaks its contract gets its way, and panics go on up.
func TestTransport_Functions(t *testing.T) {
	body := &trackedBody{Reader: strings.NewReader("text")}
	both := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Body: body}, errPlain
	}
	neither := func(*http.Request) (*http.Response, error) { return nil, nil }
	busy := func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 500, Body: body}, nil }
	bang := func(*http.Request) (*http.Response, error) { panic("an accident") }
	ask := func(*http.Request) bool { panic("an accident") }
	full := func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503, Body: body}, nil }
	classify := func(c throttle.Classifier) httpthrottle.TransportConfig {
		return httpthrottle.TransportConfig{Throttle: throttle.Config{Classify: c}}
	}
	answer := func(f func(*http.Response) error) httpthrottle.TransportConfig {
		return httpthrottle.TransportConfig{Answer: f}
	}
	all, invalid := func(error) bool { return true }, errors.New("idna: invalid label")
	is500 := func(err error) bool {
		var response *httpthrottle.ResponseError
		return errors.As(err, &response) && response.StatusCode == 500
	}
	for name, c := range map[string]struct {
		base   roundTrip
		config httpthrottle.TransportConfig
		want   string
		err    error
		closed int // times that the body of the response is closed
	}{
		"Answer":                  {busy, answer(func(*http.Response) error { return throttle.MarkRejected(errPlain) }), "rejected/other", nil, 1},
		"Classify, status":        {busy, classify(throttle.RejectIf(is500)), "rejected/other", nil, 1},
		"Classify, no connection": {fails(errPlain), classify(throttle.AcceptIf(all)), "accepted/availability", errPlain, 0},
		"Classify, own fault":     {fails(invalid), classify(throttle.AcceptIf(all)), "accepted/bad", invalid, 0},
		"neither":                 {neither, classify(nil), "ignored/none", nil, 0},
		"both":                    {both, classify(nil), "rejected/availability", errPlain, 1},
		"base panics":             {bang, classify(throttle.RejectIf(all)), "ignored/panic", nil, 0},
		"Answer panics":           {busy, answer(func(*http.Response) error { panic("an accident") }), "ignored/panic", nil, 1},
		"Send panics":             {busy, httpthrottle.TransportConfig{Send: ask}, "ignored/panic", nil, 0},
		"Repeatable panics":       {full, httpthrottle.TransportConfig{Repeatable: ask, Retry: often()}, "rejected/availability", nil, 1},
		"Classify panics":         {busy, classify(func(context.Context, error) (throttle.Outcome, bool) { panic("an accident") }), "ignored/panic", nil, 1},
	} {
		body.closed = 0
		transport := newTransport(t, c.base, c.config)
		panicked := panics(func() {
			response, err := transport.RoundTrip(get(throttle.WithPriority(t.Context(), throttle.Medium)))
			equal(t, name+": error", err, c.err)
			if response != nil {
				_ = response.Body.Close()
			}
		})
		if strings.HasSuffix(name, "panics") {
			equal(t, name, panicked, any("an accident"))
		}
		equal(t, name, books(throttleOf(t, transport, host)), "1 medium "+c.want)
		equal(t, name+": body closed", body.closed, c.closed)
	}
}

type mark struct{}

type strangeContext struct {
	context.Context
	_ []int // cannot be compared
}

// The context of the Started hook goes on to the base. The caller's request stays as it is, and that of the response is the caller's.
func TestTransport_Context(t *testing.T) {
	t.Cleanup(func() { throttle.SetDefaultHooks(throttle.Hooks{}) })
	same := func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }
	marks := func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, mark{}, 1)
	}
	other := get(t.Context()) // such as one that a cache remembers
	for name, c := range map[string]struct {
		own, byDefault func(context.Context, throttle.StartEvent) context.Context
		ctx            context.Context
		replaced       bool
	}{
		"none":       {nil, nil, t.Context(), false},
		"same":       {same, nil, t.Context(), false},
		"nil":        {func(context.Context, throttle.StartEvent) context.Context { return nil }, nil, t.Context(), false},
		"new":        {marks, nil, t.Context(), true},
		"by default": {nil, marks, t.Context(), true},
		"strange":    {marks, nil, strangeContext{Context: t.Context()}, true},
	} {
		throttle.SetDefaultHooks(throttle.Hooks{Started: c.byDefault})
		var got *http.Request
		transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := answers(200, "")(r)
			if got == nil {
				got = r
			} else {
				response.Request = other
			}
			return response, err
		}), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: throttle.Hooks{Started: c.own}}})
		r := get(c.ctx)
		response := ask(t, transport, r)
		equal(t, name+": request replaced", got != r, c.replaced)
		equal(t, name+": context marked", got.Context().Value(mark{}) != nil, c.replaced)
		equal(t, name+": response's request is the caller's", response.Request, r)
		equal(t, name+": context of the caller's", r.Context().Value(mark{}), nil)
		equal(t, name+": a request of the base's own", ask(t, transport, r).Request, other)
	}
}

type idler struct {
	roundTrip
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	base := &idler{roundTrip: answers(200, "")}
	(&http.Client{Transport: newTransport(t, base, httpthrottle.TransportConfig{})}).CloseIdleConnections()
	equal(t, "closed", base.closed, 1)
	newTransport(t, answers(200, ""), httpthrottle.TransportConfig{}).CloseIdleConnections()
}

// A nil or zero Transport has no throttles, and nothing to close.
func TestTransport_notMade(t *testing.T) {
	for name, transport := range map[string]*httpthrottle.Transport{"nil": nil, "zero": {}} {
		transport.CloseIdleConnections()
		equal(t, name+": Close", transport.Close(), nil)
		equal(t, name+": throttles", transport.Group().Len(), 0)
		equal(t, name+": retriers", transport.Retriers(), nil)
	}
}
