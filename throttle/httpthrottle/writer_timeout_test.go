package httpthrottle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// http.TimeoutHandler hides the writer of the middleware from its handler. The error of WriteError and Tell is recorded anyway.
func TestWriter_TimeoutHandler(t *testing.T) {
	shed := func(w http.ResponseWriter, r *http.Request) {
		httpthrottle.WriteError(w, r, fmt.Errorf("calling a friend: %w", throttle.ErrShed))
	}
	within := func(inner *throttle.Throttle, handler http.HandlerFunc) http.HandlerFunc {
		return httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"WriteError":                     {shed, "ignored/shed", 503},
		"unavailable":                    {func(w http.ResponseWriter, r *http.Request) { httpthrottle.WriteError(w, r, faults.Unavailable(0)) }, "rejected/availability", 503},
		"503":                            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "rejected/availability", 503},
		"a middleware that sheds":        {within(shedding(t, throttle.Config{}), never(t)), "ignored/shed", 503},
		"WriteError within a middleware": {within(newThrottle(t, throttle.Config{}), shed), "ignored/shed", 503},
		"Tell within a middleware":       {within(newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) { callTell(w, refusal{}); w.WriteHeader(429) }), "ignored/shed", 429},
		"Tell, then success":             {within(newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) { callTell(w, refusal{}) }), "accepted/none", 200},
		"a second TimeoutHandler":        {http.TimeoutHandler(http.HandlerFunc(shed), time.Minute, "").ServeHTTP, "ignored/shed", 503},
	} {
		outermost, th := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
		timed := http.TimeoutHandler(c.handler, time.Minute, "")
		w := served(outermost, httpthrottle.MiddlewareConfig{}, incoming(t.Context()),
			http.TimeoutHandler(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(timed), time.Minute, "").ServeHTTP)
		equal(t, name, books(th), "1 medium "+c.want)
		equal(t, name+", outermost", books(outermost), "1 medium "+c.want)
		equal(t, name+": status", w.Code, c.status)
	}
}

// If one of several requests inside a handler is refused, and the handler answers with success, that counts as accepted.
func TestWriter_SuccessInSpiteOfWriteError(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	w := served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			part := httptest.NewRecorder()
			httpthrottle.WriteError(part, r, faults.Unavailable(0))
			equal(t, "part", part.Code, http.StatusServiceUnavailable)
		}
		w.WriteHeader(http.StatusMultiStatus)
	})
	equal(t, "status", w.Code, http.StatusMultiStatus)
	equal(t, "books", books(th), "1 medium accepted/none")
}
