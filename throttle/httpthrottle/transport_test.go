package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestNewTransport_errors(t *testing.T) {
	_, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{Throttle: throttle.Config{Ratio: 0.5}, Group: throttle.GroupConfig{Max: -1}})
	for _, want := range []string{
		"httpthrottle: TransportConfig.Throttle: throttle: Config.Name", "Config.Ratio is 0.5",
		"httpthrottle: TransportConfig.Group: throttle: GroupConfig.Max is -1",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want an error with %q", err, want)
		}
	}
}

func TestShedRequestsAreNotSent(t *testing.T) {
	transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	th := throttleOf(t, transport, host)
	overload(t, th)
	before, was := books(th), shed(th)
	body := &trackedBody{Reader: strings.NewReader("text")}
	response, err := transport.RoundTrip(request(t.Context(), http.MethodPost, body))
	if response != nil || !errors.Is(err, throttle.ErrShed) {
		t.Errorf("got %v, %v want ErrShed", response, err)
	}
	equal(t, "body closed", body.closed, 1)
	equal(t, "books", books(th), before)
	equal(t, "shed", shed(th), was+1)

	_, err = (&http.Client{Transport: transport}).Do(get(t.Context())) //nolint:bodyclose // there is none
	var refused *throttle.ShedError
	equal(t, "key", errors.As(err, &refused) && refused.Key == host && refused.Throttle == "backend", true)
	var temporary interface{ Temporary() bool }
	equal(t, "client's error is ErrShed", errors.Is(err, throttle.ErrShed), true)
	equal(t, "client's error says Temporary", errors.As(err, &temporary) && temporary.Temporary(), false)
	_, err = transport.RoundTrip(&http.Request{Host: host, URL: &url.URL{Host: host}}) //nolint:bodyclose // there is none
	equal(t, "without a body", errors.Is(err, throttle.ErrShed), true)
}

// The body of a request that is not sent is closed, and the error says why it was not sent.
func TestRequestsThatAreNotSent(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no longer needed"))
	for want, ctx := range map[string]context.Context{
		"no longer needed": over, "priority 99 is out of range": throttle.WithPriority(t.Context(), 99),
	} {
		transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
		body := &trackedBody{Reader: strings.NewReader("text")}
		_, err := transport.RoundTrip(request(ctx, http.MethodPost, body)) //nolint:bodyclose // there is none
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v want %q", err, want)
		}
		if ctx == over {
			equal(t, "error", err, context.Cause(ctx))
		}
		equal(t, want+": body closed", body.closed, 1)
		equal(t, want+": books", books(throttleOf(t, transport, host)), "")
	}
}

func TestAfterClose(t *testing.T) {
	transport := newTransport(t, answers(200, "text"), httpthrottle.TransportConfig{})
	response := ask(t, transport, get(t.Context()))
	equal(t, "Close", transport.Close(), nil)
	equal(t, "Close again", transport.Close(), nil)
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

func TestTheKeyIsHostAndPort(t *testing.T) {
	for _, c := range []struct {
		url, want string
	}{
		{"http://Backend.Example/a", "backend.example"},
		{"https://backend.example:8443/", "backend.example:8443"},
		{"http://[::1]:80/", "[::1]:80"},
		{"http://", ""},
	} {
		transport := newTransport(t, answers(200, ""), httpthrottle.TransportConfig{})
		u, _ := url.Parse(c.url)
		read(t, transport, &http.Request{Method: "GET", URL: u, Header: http.Header{}})
		equal(t, c.url, books(throttleOf(t, transport, c.want)), "1 medium accepted/none")
	}
	lost := newTransport(t, fails(errPlain), httpthrottle.TransportConfig{})
	_, _ = lost.RoundTrip(&http.Request{}) //nolint:bodyclose // there is none
	equal(t, "no URL", books(throttleOf(t, lost, "")), "1 medium ignored/bad")
	transport := newTransport(t, answers(200, ""), httpthrottle.TransportConfig{Key: func(r *http.Request) string { return r.Method }})
	read(t, transport, get(t.Context()))
	equal(t, "own key", books(throttleOf(t, transport, "GET")), "1 medium accepted/none")
}

func TestAnswerIsAsked(t *testing.T) {
	transport := newTransport(t, answers(500, ""), httpthrottle.TransportConfig{
		Answer: func(*http.Response) error { return throttle.MarkRejected(errPlain) },
	})
	read(t, transport, get(t.Context()))
	equal(t, "books", books(throttleOf(t, transport, host)), "1 medium rejected/other")
}

// Classify is the user's, and asked first.
func TestClassifyIsAsked(t *testing.T) {
	serverFailed := throttle.RejectIf(func(err error) bool {
		var response *httpthrottle.ResponseError
		return errors.As(err, &response) && response.StatusCode == 500
	})
	transport := newTransport(t, answers(500, ""), httpthrottle.TransportConfig{Throttle: throttle.Config{Classify: serverFailed}})
	read(t, transport, get(t.Context()))
	equal(t, "status", books(throttleOf(t, transport, host)), "1 medium rejected/other")

	for name, c := range map[string]struct {
		base http.RoundTripper
		r    *http.Request
		want string
	}{
		"no connection": {fails(errPlain), get(t.Context()), "1 medium accepted/availability"},
		"own fault":     {http.DefaultTransport, &http.Request{URL: &url.URL{Scheme: "gopher", Host: host}, Header: http.Header{}}, "1 medium accepted/bad"},
	} {
		transport := newTransport(t, c.base, httpthrottle.TransportConfig{
			Throttle: throttle.Config{Classify: throttle.AcceptIf(func(error) bool { return true })},
		})
		_, err := transport.RoundTrip(c.r) //nolint:bodyclose // there is none
		equal(t, name+": fails", err != nil, true)
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
	}
}

type mark struct{}

func TestContextOfStarted(t *testing.T) {
	var got *http.Request
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		return answers(200, "")(r)
	})
	for name, c := range map[string]struct {
		started  func(context.Context, throttle.StartEvent) context.Context
		replaced bool
	}{
		"none": {nil, false},
		"same": {func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }, false},
		"nil":  {func(context.Context, throttle.StartEvent) context.Context { return nil }, false},
		"new": {func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, mark{}, 1)
		}, true},
	} {
		transport := newTransport(t, base, httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: throttle.Hooks{Started: c.started}}})
		r := get(t.Context())
		response := ask(t, transport, r)
		equal(t, name+": request replaced", got != r, c.replaced)
		equal(t, name+": context marked", got.Context().Value(mark{}) != nil, c.replaced)
		equal(t, name+": response's request is the caller's", response.Request, r)
		equal(t, name+": context of the caller's", r.Context().Value(mark{}), nil)
		_ = response.Body.Close()
	}
}

type strangeContext struct {
	context.Context
	_ []int
}

func TestContextsThatCannotBeCompared(t *testing.T) {
	rec := throttletest.NewRecorder()
	transport := newTransport(t, answers(200, "text"), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: rec.Hooks()}})
	equal(t, "text", read(t, transport, get(strangeContext{Context: t.Context()})), "text")
	equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
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

// A base that breaks its contract gets its way: http.Client will say so.
func TestStrangeBases(t *testing.T) {
	both := &http.Response{StatusCode: 200, Body: http.NoBody}
	for name, c := range map[string]struct {
		response *http.Response
		err      error
		want     string
	}{
		"neither": {nil, nil, "1 medium ignored/none"},
		"both":    {both, errPlain, "1 medium rejected/availability"},
	} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) { return c.response, c.err }), httpthrottle.TransportConfig{})
		response, err := transport.RoundTrip(get(t.Context())) //nolint:bodyclose // there is none
		equal(t, name+": response", response, c.response)
		equal(t, name+": error", err, c.err)
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
	}
}

func TestPanicsGoOnUp(t *testing.T) {
	everything := throttle.RejectIf(func(error) bool { return true })
	body := &trackedBody{Reader: strings.NewReader("text")}
	response := func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503, Body: body}, nil }
	bang := func() { panic("an accident") }
	for name, c := range map[string]struct {
		base   roundTrip
		config httpthrottle.TransportConfig
		closed int
		want   string
	}{
		"base":   {func(*http.Request) (*http.Response, error) { bang(); return nil, nil }, httpthrottle.TransportConfig{}, 0, "1 medium ignored/panic"},
		"Answer": {response, httpthrottle.TransportConfig{Answer: func(*http.Response) error { bang(); return nil }}, 1, "1 medium ignored/panic"},
		"Classify": {response, httpthrottle.TransportConfig{Throttle: throttle.Config{
			Classify: func(context.Context, error) (throttle.Outcome, bool) { bang(); return 0, true },
		}}, 1, "1 medium ignored/panic"},
		"base, whatever Classify would say": {
			func(*http.Request) (*http.Response, error) { bang(); return nil, nil },
			httpthrottle.TransportConfig{Throttle: throttle.Config{Classify: everything}},
			0, "1 medium ignored/panic",
		},
	} {
		body.closed = 0
		rec := throttletest.NewRecorder()
		c.config.Throttle.Hooks = rec.Hooks()
		transport := newTransport(t, c.base, c.config)
		equal(t, name+": panic", panics(func() { _, _ = transport.RoundTrip(get(t.Context())) }), any("an accident")) //nolint:bodyclose // there is none
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
		equal(t, name+": body closed", body.closed, c.closed)
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
		equal(t, name+": reported", errors.Is(rec.Finished()[0].Err, throttle.ErrPanicked), true)
	}
}

// A base may answer with another request than it was given, such as one that a cache remembers. It stays.
func TestResponsesKeepTheirRequest(t *testing.T) {
	other := get(t.Context())
	w := func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, mark{}, 1)
	}
	transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: other}, nil
	}), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: throttle.Hooks{Started: w}}})
	response, _ := transport.RoundTrip(get(t.Context())) //nolint:bodyclose // there is none
	equal(t, "request", response.Request, other)
}

func TestTransport_NilOrZero(t *testing.T) {
	var none *httpthrottle.Transport
	for _, transport := range []*httpthrottle.Transport{none, {}} {
		body := &trackedBody{Reader: strings.NewReader("text")}
		_, err := transport.RoundTrip(request(t.Context(), http.MethodPost, body)) //nolint:bodyclose // there is none
		equal(t, "error", fmt.Sprint(err), "httpthrottle: nil or zero Transport: make one with NewTransport")
		equal(t, "body closed", body.closed, 1)
	}
}

func TestTransport_DefaultHooks(t *testing.T) {
	t.Cleanup(func() { throttle.SetDefaultHooks(throttle.Hooks{}) })
	var created []string
	throttle.SetDefaultHooks(throttle.Hooks{
		Created: func(th *throttle.Throttle) { created = append(created, th.Key()) },
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, mark{}, 1)
		},
	})
	transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		equal(t, "mark of the request", r.Context().Value(mark{}), any(1))
		return answers(200, "")(r)
	}), httpthrottle.TransportConfig{})
	equal(t, "created before the first request", len(created), 0)
	read(t, transport, get(t.Context()))
	equal(t, "created", fmt.Sprint(created), "["+host+"]")
}
