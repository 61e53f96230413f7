package httpthrottle_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
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
		"unavailable":                    {func(w http.ResponseWriter, r *http.Request) { httpthrottle.WriteError(w, r, faults.Unavailable(0)) }, "ignored/availability", 503},
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

// A handler that writes after its deadline is too late, whatever it writes.
func TestWriter_DeadlinePassed(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration // the client disconnects before the handler ends; 0: it does not
		answer func(http.ResponseWriter)
		want   string
	}{
		"nothing":                  {0, func(http.ResponseWriter) {}, "rejected/timeout"},
		"200":                      {0, func(w http.ResponseWriter) { w.WriteHeader(200) }, "rejected/timeout"},
		"404":                      {0, func(w http.ResponseWriter) { w.WriteHeader(404) }, "rejected/timeout"},
		"Tell":                     {0, func(w http.ResponseWriter) { callTell(w, nil) }, "rejected/timeout"},
		"canceled early":           {time.Second, func(w http.ResponseWriter) { w.WriteHeader(200) }, "rejected/timeout"},
		"canceled at the deadline": {time.Minute, func(http.ResponseWriter) {}, "rejected/timeout"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))
			defer cancel()
			th := newThrottle(t, throttle.Config{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), func(w http.ResponseWriter, _ *http.Request) {
				if c.within > 0 {
					time.Sleep(c.within - 1)
					cancel()
				}
				time.Sleep(time.Minute)
				c.answer(w)
			})
			equal(t, name, books(th), "1 medium "+c.want)
		})
	}
}

// http.TimeoutHandler answers 503 in place of a handler that writes late.
func TestWriter_TimeoutHandlerOutside(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"writes late": func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(3 * time.Second)
			_, _ = io.WriteString(w, "late")
		},
		"returns late": func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Second) },
		"sees the end": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(t, throttle.Config{Mode: throttle.ModeOff})
			timed := http.TimeoutHandler(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(handler), time.Second, "timed out")
			for range 20 {
				w := httptest.NewRecorder()
				timed.ServeHTTP(w, incoming(t.Context()))
				equal(t, name+": status", w.Code, http.StatusServiceUnavailable)
				time.Sleep(3 * time.Second) // until the handler has ended
			}
			equal(t, name, books(th), "20 medium rejected/timeout")
		})
	}
}
