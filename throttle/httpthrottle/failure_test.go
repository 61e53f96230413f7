package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// send sends a request through a new transport and returns what the throttle made of it, and the error.
func send(t *testing.T, base http.RoundTripper, r *http.Request) (string, error) {
	t.Helper()
	transport := newTransport(t, base, httpthrottle.TransportConfig{Key: func(*http.Request) string { return "" }})
	response, err := transport.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return books(throttleOf(t, transport, "")), err
}

func TestErrorsOfTheBase(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"plain":             {errPlain, "rejected/availability"},
		"connection":        {&net.OpError{Op: "dial", Err: errPlain}, "rejected/availability"},
		"connection closed": {io.EOF, "rejected/availability"},
		"timeout":           {&net.DNSError{IsTimeout: true}, "rejected/timeout"},
		"deadline":          {context.DeadlineExceeded, "rejected/timeout"},
		"canceled":          {fmt.Errorf("gave up: %w", context.Canceled), "ignored/canceled"},
		"a fault":           {faults.ResourceExhausted(), "rejected/quota"},
		"not for us":        {faults.NotFound, "accepted/missing"},
		"marked":            {throttle.RejectedError(errPlain), "rejected/availability"},
		"shed further down": {throttle.ErrShed, "ignored/shed"},
	} {
		got, err := send(t, fails(c.err), get(t.Context()))
		equal(t, name, got, "1 medium "+c.want)
		equal(t, name+": error", err, c.err)
	}
}

// The base may say anything about a request that was given up.
func TestErrorsOfRequestsThatAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			cause error
			want  string
		}{
			"canceled": {nil, "ignored/canceled"}, "for a reason": {errPlain, "ignored/canceled"},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			got, _ := send(t, roundTrip(func(*http.Request) (*http.Response, error) {
				cancel(c.cause)
				return nil, errPlain
			}), get(ctx))
			equal(t, name, got, "1 medium "+c.want)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too slow"))
		defer cancel()
		got, err := send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}), get(ctx))
		equal(t, "deadline", got, "1 medium rejected/timeout")
		equal(t, "error", err.Error(), "too slow")
	})
}

// What the throttle is told says what the caller's error says.
func TestToldErrorsKeepTheirText(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"own fault": func(r *http.Request) { r.URL.Scheme = "gopher" },
		"given up":  func(r *http.Request) { *r = *r.WithContext(late{t.Context()}) },
	} {
		w := &witness{}
		transport := newTransport(t, fails(errPlain), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: w.hooks()}})
		r := get(t.Context())
		change(r)
		_, _ = transport.RoundTrip(r) //nolint:bodyclose // there is none
		told := w.finished[0].Err
		equal(t, name+": is the caller's", errors.Is(told, errPlain), true)
		equal(t, name+": text", strings.Contains(told.Error(), errPlain.Error()), true)
	}
}

// late is a context whose deadline has passed without its knowledge, as for http.Client, whose own timer is faster.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }
func (late) Err() error                  { return nil }

func TestTheCancelChannel(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for name, c := range map[string]struct {
		ctx    context.Context
		cancel chan struct{}
		want   string
	}{
		"canceled":     {t.Context(), closed, "ignored/canceled"},
		"timed out":    {late{t.Context()}, closed, "rejected/timeout"},
		"not canceled": {t.Context(), make(chan struct{}), "rejected/availability"},
	} {
		r := get(c.ctx)
		//lint:ignore SA1019 http.Client sets it
		r.Cancel = c.cancel //nolint:staticcheck // http.Client sets it
		got, _ := send(t, fails(errPlain), r)
		equal(t, name, got, "1 medium "+c.want)
	}
}

func TestTimeoutOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			//lint:ignore SA1019 http.Client sets it
			<-r.Cancel //nolint:staticcheck // http.Client sets it
			return nil, errPlain
		}), httpthrottle.TransportConfig{})
		_, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(get(t.Context())) //nolint:bodyclose // there is none
		var timeout net.Error
		equal(t, "error is a timeout", errors.As(err, &timeout) && timeout.Timeout(), true)
		equal(t, "books", books(throttleOf(t, transport, host)), "1 medium rejected/timeout")
	})
}

// A request that nobody could send says nothing about its server.
func TestMalformedRequests(t *testing.T) {
	base := dialer(func() (net.Conn, error) {
		t.Error("got a connection asked for, want the request refused")
		return nil, errPlain
	})
	for name, change := range map[string]func(*http.Request){
		"nil URL":             func(r *http.Request) { r.URL = nil },
		"nil header":          func(r *http.Request) { r.Header = nil },
		"no host":             func(r *http.Request) { r.URL.Host = "" },
		"unknown scheme":      func(r *http.Request) { r.URL.Scheme = "gopher" },
		"no scheme":           func(r *http.Request) { r.URL.Scheme = "" },
		"method":              func(r *http.Request) { r.Method = "GET ME" },
		"method, not ASCII":   func(r *http.Request) { r.Method = "GÉT" },
		"method, DEL":         func(r *http.Request) { r.Method = "A\x7f" },
		"field name":          func(r *http.Request) { r.Header["a:b"] = []string{"1"} },
		"empty field name":    func(r *http.Request) { r.Header[""] = []string{"1"} },
		"field value":         func(r *http.Request) { r.Header["A"] = []string{"1", "1\n2"} },
		"field value, DEL":    func(r *http.Request) { r.Header["A"] = []string{"1\x7f2"} },
		"trailer":             func(r *http.Request) { r.Trailer = http.Header{"A b": nil} },
		"length without body": func(r *http.Request) { r.Body, r.ContentLength = nil, 5 },
	} {
		r := get(t.Context())
		change(r)
		dial := base
		if r.Body == nil && r.ContentLength > 0 {
			dial = dialer(func() (net.Conn, error) { conn, _ := net.Pipe(); return conn, nil }) // is found out late
		}
		got, err := send(t, dial, r)
		equal(t, name, got, "1 medium ignored/bad")
		equal(t, name+": fails", err != nil, true)
		if dial == base { // and not a connection that may fail first
			_, want := dial.RoundTrip(r) //nolint:bodyclose // there is none
			equal(t, name+": error", err.Error(), want.Error())
		}
	}
}

// What is well-formed is not held for malformed.
func TestSoundRequestsThatFail(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"plain":       func(*http.Request) {},
		"no method":   func(r *http.Request) { r.Method = "" },
		"token":       func(r *http.Request) { r.Method = "M-SEARCH!#$%&'*+.^_`|~09azAZ" },
		"https":       func(r *http.Request) { r.URL.Scheme = "https" },
		"header":      func(r *http.Request) { r.Header["X-1"] = []string{"", "a\tb ~\x80é"} },
		"no body":     func(r *http.Request) { r.Body = nil },
		"length":      func(r *http.Request) { r.ContentLength = 5 },
		"other, dial": func(r *http.Request) { r.URL.Scheme = "unix" },
	} {
		r := get(t.Context())
		change(r)
		got, _ := send(t, fails(&net.OpError{Op: "dial", Err: errPlain}), r)
		equal(t, name+", no connection", got, "1 medium rejected/availability")
		if r.URL.Scheme == "unix" {
			continue
		}
		got, _ = send(t, fails(errPlain), r)
		equal(t, name, got, "1 medium rejected/availability")
	}
}
