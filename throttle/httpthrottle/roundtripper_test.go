package httpthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

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
		w := &witness{}
		c.config.Throttle.Hooks = w.hooks()
		transport := newTransport(t, c.base, c.config)
		equal(t, name+": panic", panics(func() { _, _ = transport.RoundTrip(get(t.Context())) }), any("an accident")) //nolint:bodyclose // there is none
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
		equal(t, name+": body closed", body.closed, c.closed)
		w.want(t, "started", "finished")
		equal(t, name+": told", errors.Is(w.finished[0].Err, throttle.ErrPanicked), true)
	}
}

func TestGoexitEndsTheCall(t *testing.T) {
	transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
		runtime.Goexit()
		return nil, nil
	}), httpthrottle.TransportConfig{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = transport.RoundTrip(get(t.Context())) //nolint:bodyclose // there is none
	}()
	<-gone
	equal(t, "books", books(throttleOf(t, transport, host)), "1 medium ignored/panic")
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

// Each attempt of a round tripper around the transport is a call of its own; one below it makes one call of many attempts.
func TestRetryingRoundTrippers(t *testing.T) {
	attempts := 0
	moody := roundTrip(func(r *http.Request) (*http.Response, error) {
		if attempts++; attempts%2 == 1 {
			return answers(503, "busy")(r)
		}
		return answers(200, "text")(r)
	})
	around := newTransport(t, moody, httpthrottle.TransportConfig{})
	equal(t, "around", read(t, again{around}, get(t.Context())), "text")
	equal(t, "around", books(throttleOf(t, around, host)), "1 medium accepted/none, 1 medium rejected/availability")
	below := newTransport(t, again{moody}, httpthrottle.TransportConfig{})
	equal(t, "below", read(t, below, get(t.Context())), "text")
	equal(t, "below", books(throttleOf(t, below, host)), "1 medium accepted/none")
}

// again tries twice.
type again struct{ base http.RoundTripper }

func (a again) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.base.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable {
		return response, err
	}
	_ = response.Body.Close()
	return a.base.RoundTrip(r)
}

// What an inner throttle shed says nothing about the backend behind the outer one.
func TestTransportInTransport(t *testing.T) {
	inner := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, inner, host))
	outer := newTransport(t, inner, httpthrottle.TransportConfig{})
	_, err := outer.RoundTrip(get(t.Context())) //nolint:bodyclose // there is none
	equal(t, "error is ErrShed", errors.Is(err, throttle.ErrShed), true)
	equal(t, "books", books(throttleOf(t, outer, host)), "1 medium ignored/shed")
}
