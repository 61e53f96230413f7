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
)

func TestNewTransportRefusesBadConfigs(t *testing.T) {
	named := throttle.Config{Name: "backend"}
	for want, c := range map[string]httpthrottle.TransportConfig{
		"httpthrottle: TransportConfig.Throttle: throttle: Config.Name": {},
		"Config.Ratio is 0.5":             {Throttle: throttle.Config{Name: "backend", Ratio: 0.5}},
		"GroupConfig.Max is -1":           {Throttle: named, Group: throttle.GroupConfig{Max: -1}},
		"httpthrottle: TransportConfig.G": {Throttle: named, Group: throttle.GroupConfig{Idle: 1}},
	} {
		if _, err := httpthrottle.NewTransport(nil, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want an error with %q", err, want)
		}
	}
}

// Nobody hears of a throttle before there is a request.
func TestNewTransportMakesNoThrottle(t *testing.T) {
	made := 0
	transport := newTransport(t, answers(200, ""), httpthrottle.TransportConfig{
		Throttle: throttle.Config{Hooks: throttle.Hooks{Created: func(*throttle.Throttle) { made++ }}},
	})
	equal(t, "throttles", made, 0)
	read(t, transport, get(t.Context()))
	equal(t, "throttles after a request", made, 1)
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
	var temporary interface{ Temporary() bool }
	equal(t, "client's error is ErrShed", errors.Is(err, throttle.ErrShed), true)
	equal(t, "client's error says Temporary", errors.As(err, &temporary) && temporary.Temporary(), false)
	_, err = transport.RoundTrip(&http.Request{Host: host, URL: &url.URL{Host: host}}) //nolint:bodyclose // there is none
	equal(t, "without a body", errors.Is(err, throttle.ErrShed), true)
}

func TestContextsThatAreOver(t *testing.T) {
	transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{})
	why := errors.New("no longer needed")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	body := &trackedBody{Reader: strings.NewReader("text")}
	_, err := transport.RoundTrip(request(over, http.MethodPost, body)) //nolint:bodyclose // there is none
	equal(t, "error", err, why)
	equal(t, "body closed", body.closed, 1)
	equal(t, "books", books(throttleOf(t, transport, host)), "")
}

func TestPrioritiesThatAreRefused(t *testing.T) {
	transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
	body := &trackedBody{Reader: strings.NewReader("text")}
	_, err := transport.RoundTrip(request(throttle.WithPriority(t.Context(), 99), http.MethodPost, body)) //nolint:bodyclose // there is none
	if err == nil || !strings.Contains(err.Error(), "priority 99 is out of range") {
		t.Errorf("got %v want an error that names the priority", err)
	}
	equal(t, "body closed", body.closed, 1)
}

func TestAfterClose(t *testing.T) {
	transport := newTransport(t, answers(200, "text"), httpthrottle.TransportConfig{})
	response, err := transport.RoundTrip(get(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Close", transport.Close(), nil)
	equal(t, "Close again", transport.Close(), nil)
	text, _ := io.ReadAll(response.Body)
	equal(t, "text of the request in flight", string(text), "text")
	r := get(t.Context())
	r.Header[httpthrottle.PriorityHeader] = []string{"high"}
	response, err = transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("after Close: got error %v want the request sent", err)
	}
	text, _ = io.ReadAll(response.Body)
	equal(t, "text after Close", string(text), "text")
	equal(t, "the header of a stranger after Close", len(response.Request.Header), 0)
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
	transport := newTransport(t, answers(500, ""), httpthrottle.TransportConfig{Answer: func(r *http.Response) error {
		if r.StatusCode == 500 {
			return throttle.RejectedError(errPlain)
		}
		return httpthrottle.StatusError(r)
	}})
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
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name+": request replaced", got != r, c.replaced)
		equal(t, name+": context marked", got.Context().Value(mark{}) != nil, c.replaced)
		equal(t, name+": response's request is the caller's", response.Request, r)
		equal(t, name+": context of the caller's", r.Context().Value(mark{}), nil)
		_ = response.Body.Close()
	}
}

// strangeContext cannot be compared.
type strangeContext struct {
	context.Context
	_ []int
}

func TestContextsThatCannotBeCompared(t *testing.T) {
	w := &witness{}
	transport := newTransport(t, answers(200, "text"), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: w.hooks()}})
	equal(t, "text", read(t, transport, get(strangeContext{Context: t.Context()})), "text")
	w.want(t, "started", "finished")
}
