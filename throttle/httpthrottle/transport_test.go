package httpthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
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

// read sends a request and reads the response.
func read(t testing.TB, transport http.RoundTripper, r *http.Request) string {
	t.Helper()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswersAreToldAtTheHeader(t *testing.T) {
	for status, want := range map[int]string{
		200: "accepted/none", 301: "accepted/none", 404: "accepted/missing", 429: "rejected/quota", 500: "accepted/other",
		503: "rejected/availability", 504: "rejected/timeout",
	} {
		w := &witness{}
		transport := newTransport(t, answers(status, "text"), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: w.hooks()}})
		th := throttleOf(t, transport, host)
		response, err := transport.RoundTrip(get(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "at the header", books(th), "1 medium "+want+", 1 medium in flight")
		w.want(t, "started")
		text, err := io.ReadAll(response.Body)
		equal(t, "text", string(text), "text")
		equal(t, "error", err, nil)
		equal(t, "at the end", books(th), "1 medium "+want)
		w.want(t, "started", "finished")
		equal(t, "error told", fmt.Sprint(w.finished[0].Err), fmt.Sprint(httpthrottle.StatusError(response)))
		_ = response.Body.Close()
		equal(t, "when closed, too", books(th), "1 medium "+want)
		w.want(t, "started", "finished")
	}
}

// broken is a body that breaks.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return b.err }

func TestABodyEndsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		body io.ReadCloser
		do   func(io.ReadCloser)
		want string
		err  error
	}{
		"left open":       {io.NopCloser(strings.NewReader("12")), func(io.ReadCloser) {}, "1 medium accepted/none, 1 medium in flight", nil},
		"read in part":    {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _, _ = b.Read(make([]byte, 1)) }, "1 medium accepted/none, 1 medium in flight", nil},
		"closed":          {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _ = b.Close() }, "1 medium accepted/none", nil},
		"read to the end": {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) }, "1 medium accepted/none", nil},
		"breaks":          {broken{errPlain}, func(b io.ReadCloser) { _, _ = b.Read(nil) }, "1 medium accepted/none", errPlain},
		"fails to close":  {broken{errPlain}, func(b io.ReadCloser) { _ = b.Close() }, "1 medium accepted/none", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: c.body}, nil
			}), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: w.hooks()}})
			response, err := transport.RoundTrip(get(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			c.do(response.Body)
			equal(t, "books", books(throttleOf(t, transport, host)), c.want)
			if len(w.finished) > 0 {
				equal(t, "error told", w.finished[0].Err, c.err)
			}
			if name != "left open" {
				equal(t, "error of Close", response.Body.Close(), c.body.Close())
			}
		})
	}
}

func TestNoBodyEndsAtOnce(t *testing.T) {
	open := io.NopCloser(strings.NewReader(""))
	for name, c := range map[string]struct {
		method string
		body   io.ReadCloser
	}{"NoBody": {"GET", http.NoBody}, "nil": {"GET", nil}, "HEAD": {"HEAD", open}} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: c.body}, nil
		}), httpthrottle.TransportConfig{})
		response, err := transport.RoundTrip(request(t.Context(), c.method, http.NoBody))
		equal(t, name+": error", err, nil)
		equal(t, name+": body", response.Body, c.body)
		equal(t, name, books(throttleOf(t, transport, host)), "1 medium accepted/none")
	}
}

// stream is a body that can be written to.
type stream struct {
	io.Reader
	bytes.Buffer
	shut int
}

func (s *stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (s *stream) Close() error               { return nil }

// halfStream can be closed for writing, too.
type halfStream struct{ stream }

func (s *halfStream) CloseWrite() error { s.shut++; return errPlain }

func TestBodiesStayWritable(t *testing.T) {
	plain, duplex, half := io.NopCloser(strings.NewReader("in")), &stream{Reader: strings.NewReader("in")}, &halfStream{stream{Reader: strings.NewReader("in")}}
	for name, c := range map[string]struct {
		body                 io.ReadCloser
		writable, halfCloses bool
	}{"plain": {plain, false, false}, "duplex": {duplex, true, false}, "half": {half, true, true}} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: c.body}, nil
		}), httpthrottle.TransportConfig{})
		response, err := transport.RoundTrip(get(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		w, ok := response.Body.(io.Writer)
		equal(t, name+": is a Writer", ok, c.writable)
		if ok {
			_, _ = io.WriteString(w, "out")
		}
		h, ok := response.Body.(interface{ CloseWrite() error })
		equal(t, name+": is a half-closer", ok, c.halfCloses)
		if ok {
			equal(t, name+": error of CloseWrite", h.CloseWrite(), errPlain)
		}
		th := throttleOf(t, transport, host)
		equal(t, name+": books", books(th), "1 medium accepted/none, 1 medium in flight")
		text, _ := io.ReadAll(response.Body)
		equal(t, name+": read", string(text), "in")
		equal(t, name+": books at the end", books(th), "1 medium accepted/none")
	}
	equal(t, "written", duplex.String()+" "+half.String(), "out out")
	equal(t, "half-closed", half.shut, 1)
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

func TestKeys(t *testing.T) {
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

// Only bodies that may fail are watched, for the others may be sent in ways of their own.
func TestWhichBodiesAreWatched(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pipe, _ := io.Pipe()
	for name, c := range map[string]struct {
		body    io.Reader
		watched bool
	}{
		"nil": {nil, false}, "NoBody": {http.NoBody, false}, "bytes": {bytes.NewReader([]byte("1")), false}, "string": {strings.NewReader("1"), false},
		"buffer": {bytes.NewBufferString("1"), false}, "file": {file, false}, "pipe": {pipe, true}, "stream": {io.LimitReader(file, 1), true},
	} {
		r := request(t.Context(), http.MethodPost, c.body)
		before := *r
		transport := newTransport(t, roundTrip(func(sent *http.Request) (*http.Response, error) {
			equal(t, name+": request replaced", sent != r, c.watched)
			equal(t, name+": body replaced", sent.Body != r.Body, c.watched)
			return answers(200, "")(sent)
		}), httpthrottle.TransportConfig{})
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name+": response's request is the caller's", response.Request, r)
		equal(t, name+": caller's body untouched", r.Body, before.Body)
		_ = response.Body.Close()
	}
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
