package httpthrottle_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

const calmLoad = "TEXT named_metrics.spillway.overloaded=0"

func trusting(trusted bool) throttle.Trust {
	return throttle.Trust{Peer: func(context.Context) bool { return trusted }}
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func TestMiddleware_Tell(t *testing.T) {
	tell := func(to bool) func(*http.Request) bool { return func(*http.Request) bool { return to } }
	for name, c := range map[string]struct {
		config httpthrottle.MiddlewareConfig
		want   string
	}{
		"default":    {},
		"trusted":    {httpthrottle.MiddlewareConfig{Trust: trusting(true)}, calmLoad},
		"a stranger": {httpthrottle.MiddlewareConfig{Trust: trusting(false)}, ""},
		"Tell":       {httpthrottle.MiddlewareConfig{Trust: trusting(false), Tell: tell(true)}, calmLoad},
		"Tell not":   {httpthrottle.MiddlewareConfig{Trust: trusting(true), Tell: tell(false)}, ""},
		"exempt":     {httpthrottle.MiddlewareConfig{Tell: tell(true), Exempt: tell(true)}, ""},
	} {
		for how, handler := range map[string]http.HandlerFunc{
			"no write": func(http.ResponseWriter, *http.Request) {},
			"status":   ok,
			"error": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(protocol.LoadHeader, "TEXT of a backend")
				httpthrottle.WriteError(w, r, throttle.ErrShed)
			},
			"body":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) },
			"flush": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
			"hints": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusOK)
			},
		} {
			w := served(newThrottle(t, throttle.Config{}), c.config, incoming(t.Context()), handler)
			want := c.want
			if how == "error" && (name == "default" || name == "exempt") {
				want = "TEXT of a backend" // a middleware without Tell leaves it as it is
			}
			equal(t, name+", "+how, strings.Join(w.Header()[protocol.LoadHeader], "|"), want)
		}
	}
}

// A panic of Tell leaves no request in flight.
func TestMiddleware_Tell_panics(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	tell := func(*http.Request) bool { panic("an accident") }
	equal(t, "panic", panics(func() { served(th, httpthrottle.MiddlewareConfig{Tell: tell}, incoming(t.Context()), ok) }), any("an accident"))
	equal(t, "books", books(th), "")
}

// An outer handler may answer after a panic. That answer has a report too.
func TestMiddleware_Tell_afterPanic(t *testing.T) {
	serve := httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{Trust: trusting(true)})
	failing := serve(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("an accident") }))
	w := httptest.NewRecorder()
	if panics(func() { failing.ServeHTTP(w, incoming(t.Context())) }) != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
	equal(t, "report", w.Result().Header.Get(protocol.LoadHeader), calmLoad) //nolint:bodyclose // it needs none
}

func TestTransport_Listen(t *testing.T) {
	const overloaded = "TEXT named_metrics.spillway.overloaded=1"
	for name, c := range map[string]struct {
		listen func(*http.Request) bool
		header string
		known  bool
	}{
		"default":   {nil, overloaded, false},
		"allowed":   {func(r *http.Request) bool { return r.URL.Host == host }, overloaded, true},
		"forbidden": {func(r *http.Request) bool { return r.URL.Host != host }, overloaded, false},
		"no header": {func(*http.Request) bool { t.Error("Listen was called without a report"); return true }, "", false},
	} {
		for _, retries := range []*retry.Config{nil, {}} {
			transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				response, err := answers(http.StatusOK, "")(r)
				if c.header != "" {
					response.Header.Set(protocol.LoadHeader, c.header)
				}
				return response, err
			}), httpthrottle.TransportConfig{Listen: c.listen, Retry: retries})
			response := ask(t, transport, get(t.Context()))
			_ = response.Body.Close()
			equal(t, name+": header", response.Header.Get(protocol.LoadHeader), c.header)
			equal(t, name+": known", throttleOf(t, transport, host).Stats().Received.Known, c.known)
		}
	}
}
