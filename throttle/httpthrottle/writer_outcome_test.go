package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// handled is a request to a handler, and how it is counted.
type handled struct {
	serve  http.HandlerFunc
	want   string
	status int           // 0: not compared
	within time.Duration // the deadline of the request; 0: none
	body   io.Reader
}

type hangUpKey struct{}

// hangUp disconnects the client of a request.
func hangUp(r *http.Request) { r.Context().Value(hangUpKey{}).(context.CancelFunc)() }

// outcomes serves requests inside two middlewares. Both must count the same.
func outcomes(t *testing.T, c httpthrottle.MiddlewareConfig, cases map[string]handled) {
	for name, h := range cases {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if h.within > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), h.within)
			}
			defer cancel()
			outer, inner := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
			r := httptest.NewRequestWithContext(context.WithValue(ctx, hangUpKey{}, cancel), http.MethodPost, "/", h.body)
			var w *httptest.ResponseRecorder
			got := panics(func() { w = served(outer, c, r, httpthrottle.Middleware(inner, c)(h.serve).ServeHTTP) })
			equal(t, name, books(inner), "1 medium "+h.want)
			equal(t, name+", outer", books(outer), "1 medium "+h.want)
			switch {
			case got != nil:
				equal(t, name+": panic", got, panics(func() { h.serve(httptest.NewRecorder(), r) }))
			case h.status != 0:
				equal(t, name+": status", w.Code, h.status)
			}
		})
	}
}

func writes(statuses ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, status := range statuses {
			w.WriteHeader(status)
		}
	}
}

func TestOutcome_Status(t *testing.T) {
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"nothing":             {serve: writes(), want: "accepted/none", status: 200},
		"200":                 {serve: writes(200), want: "accepted/none", status: 200},
		"empty body, 503":     {serve: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(503) }, want: "accepted/none", status: 200},
		"string, 503":         {serve: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a"); w.WriteHeader(503) }, want: "accepted/none", status: 200},
		"flush, 503":          {serve: func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(503) }, want: "accepted/none", status: 200},
		"404":                 {serve: writes(404), want: "accepted/missing", status: 404},
		"999":                 {serve: writes(999), want: "accepted/other", status: 999},
		"503, then 200":       {serve: writes(503, 200), want: "rejected/availability", status: 503},
		"1xx, then 503":       {serve: writes(103, 102, 503), want: "rejected/availability", status: 103}, // a recorder keeps the first, final or not
		"101, which is final": {serve: writes(101, 503), want: "accepted/none"},
		"panic":               {serve: func(http.ResponseWriter, *http.Request) { panic("an accident") }, want: "ignored/panic"},
		"panic after 503":     {serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); panic("an accident") }, want: "rejected/availability"},
		"aborting":            {serve: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: "ignored/panic"},
		"99, which panics":    {serve: writes(99), want: "ignored/panic"},
		"1000, which panics":  {serve: writes(1000), want: "ignored/panic"},
	})
}

func tells(err error, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { callTell(w, err); w.WriteHeader(status) }
}

func within(inner *throttle.Throttle, handler http.HandlerFunc) http.HandlerFunc {
	return httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP
}

// An error given to Tell, or a shed of an inner middleware, counts in place of the status.
func TestOutcome_Tell(t *testing.T) {
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"429 of a bucket":   {serve: tells(refusal{}, 429), want: "ignored/shed", status: 429},
		"429 to one caller": {serve: tells(nil, 429), want: "accepted/none", status: 429},
		"200 from a cache, for want of a backend": {serve: func(w http.ResponseWriter, _ *http.Request) {
			callTell(w, faults.Unavailable(0))
			_, _ = io.WriteString(w, "stale")
		}, want: "rejected/availability", status: 200},
		"a status that is left to the server": {serve: func(w http.ResponseWriter, _ *http.Request) { callTell(w, faults.NotFound) }, want: "accepted/missing", status: 200},
		"the first of two errors": {serve: func(w http.ResponseWriter, r *http.Request) {
			callTell(w, refusal{})
			tells(faults.Unavailable(0), 503)(w, r)
		}, want: "ignored/shed", status: 503},
		"after the header": {serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429); callTell(w, refusal{}) }, want: "rejected/quota", status: 429},
		"after 1xx":        {serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); tells(refusal{}, 429)(w, r) }, want: "ignored/shed"},
		"a client that has gone away": {serve: func(w http.ResponseWriter, r *http.Request) {
			hangUp(r)
			callTell(w, faults.Unavailable(0))
		}, want: "ignored/canceled"},
		"before a copy": {serve: func(w http.ResponseWriter, _ *http.Request) {
			callTell(w, refusal{})
			_, _ = io.Copy(w, io.LimitReader(endless{}, 10))
		}, want: "ignored/shed", status: 200},
		"before WriteError": {serve: func(w http.ResponseWriter, r *http.Request) {
			callTell(w, refusal{})
			equal(t, "WriteError writes", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
		}, want: "ignored/shed", status: 503},
		"through wrappers": {serve: func(w http.ResponseWriter, r *http.Request) { tells(refusal{}, 429)(wrapped{wrapped{w}}, r) }, want: "ignored/shed", status: 429},
		"behind a wrapper without Unwrap": {serve: func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "has Tell", callTell(struct{ http.ResponseWriter }{w}, refusal{}), false)
			w.WriteHeader(429)
		}, want: "rejected/quota", status: 429},
		"a middleware that sheds": {serve: func(w http.ResponseWriter, r *http.Request) {
			within(shedding(t, throttle.Config{}), never(t))(wrapped{w}, r)
		}, want: "ignored/shed", status: 503},
		"a middleware of a zero throttle": {serve: within(&throttle.Throttle{}, never(t)), want: "accepted/other", status: 500},
	})
}

// WriteError answers once, and its error counts in place of the status. A success counts as such.
func TestOutcome_WriteError(t *testing.T) {
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"shed": {serve: func(w http.ResponseWriter, r *http.Request) {
			equal(t, "ours", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
			equal(t, "ours, too late", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
		}, want: "ignored/shed", status: 503},
		"after the header": {serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "text")
			equal(t, "ours", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
			equal(t, "not ours", httpthrottle.WriteError(w, r, errors.New("text")), false)
			equal(t, "written", w.Header().Get("Retry-After"), "")
		}, want: "accepted/none", status: 200},
		"for a part of the answer": {serve: func(w http.ResponseWriter, r *http.Request) {
			part := httptest.NewRecorder()
			httpthrottle.WriteError(part, r, faults.Unavailable(0))
			equal(t, "part", part.Code, 503)
			w.WriteHeader(207)
		}, want: "accepted/none", status: 207},
	})
}

// http.TimeoutHandler hides the writer of the middleware from its handler. The error of WriteError and Tell is recorded anyway.
func TestOutcome_TimeoutHandler(t *testing.T) {
	timed := func(h http.HandlerFunc) http.HandlerFunc { return http.TimeoutHandler(h, time.Minute, "").ServeHTTP }
	answers := func(err error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { httpthrottle.WriteError(w, r, err) }
	}
	wrapped := answers(fmt.Errorf("calling a friend: %w", throttle.ErrShed))
	th := newThrottle(t, throttle.Config{})
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"WriteError":                     {serve: timed(wrapped), want: "ignored/shed", status: 503},
		"unavailable":                    {serve: timed(answers(faults.Unavailable(0))), want: "ignored/availability", status: 503},
		"503":                            {serve: timed(writes(503)), want: "rejected/availability", status: 503},
		"a middleware that sheds":        {serve: timed(within(shedding(t, throttle.Config{}), never(t))), want: "ignored/shed", status: 503},
		"WriteError within a middleware": {serve: timed(within(th, wrapped)), want: "ignored/shed", status: 503},
		"Tell within a middleware":       {serve: timed(within(th, tells(refusal{}, 429))), want: "ignored/shed", status: 429},
		"Tell, then success":             {serve: timed(within(th, tells(refusal{}, 200))), want: "accepted/none", status: 200},
		"a second TimeoutHandler":        {serve: timed(timed(wrapped)), want: "ignored/shed", status: 503},
	})
}

// A handler that writes after its deadline is too late, whatever it writes: http.TimeoutHandler may be around it.
func TestOutcome_DeadlinePassed(t *testing.T) {
	after := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Minute); answer(w, r) }
	}
	gone := func(after time.Duration) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			time.Sleep(after)
			hangUp(r)
			time.Sleep(time.Minute - after)
		}
	}
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"nothing":                  {serve: after(writes()), within: time.Minute, want: "rejected/timeout"},
		"200":                      {serve: after(writes(200)), within: time.Minute, want: "rejected/timeout"},
		"404":                      {serve: after(writes(404)), within: time.Minute, want: "rejected/timeout"},
		"Tell":                     {serve: after(tells(nil, 200)), within: time.Minute, want: "rejected/timeout"},
		"canceled early":           {serve: gone(time.Second), within: time.Minute, want: "rejected/timeout"},
		"canceled at the deadline": {serve: gone(time.Minute - 1), within: time.Minute, want: "rejected/timeout"},
	})
}

// A client that disconnects late has waited too long for this server, unless its answer has begun.
func TestOutcome_CanceledAfter(t *testing.T) {
	waits := func(d time.Duration, status ...int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { time.Sleep(d); hangUp(r); writes(status...)(w, r) }
	}
	for _, c := range []struct {
		limit, waited time.Duration
		want          string
	}{
		{0, 0, "ignored/canceled"},
		{0, time.Second - 1, "ignored/canceled"},
		{0, time.Second, "rejected/canceled"},
		{-1, 24 * time.Hour, "ignored/canceled"},
		{time.Minute, time.Minute - 1, "ignored/canceled"},
		{time.Minute, time.Minute, "rejected/canceled"},
		{24 * time.Hour, time.Hour, "rejected/canceled"}, // too long becomes 1 h
	} {
		name := fmt.Sprintf("%v of %v", c.waited, c.limit)
		outcomes(t, httpthrottle.MiddlewareConfig{CanceledAfter: c.limit}, map[string]handled{
			name: {serve: waits(c.waited), want: c.want}, name + ", 200": {serve: waits(c.waited, 200), want: c.want},
			name + ", 503": {serve: waits(c.waited, 503), want: c.want},
		})
	}
	uploads := func(after time.Duration) http.HandlerFunc { // a slow one does not count, only what comes after it
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 2))
			waits(after)(w, r)
		}
	}
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"stream":           {serve: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); waits(time.Hour)(w, r) }, want: "accepted/none"},
		"upload":           {serve: uploads(0), body: io.LimitReader(drip{}, 3), want: "ignored/canceled"},
		"after the upload": {serve: uploads(time.Second), body: io.LimitReader(drip{}, 3), want: "rejected/canceled"},
	})
}

// drip has a byte per minute.
type drip struct{}

func (drip) Read(p []byte) (int, error) { time.Sleep(time.Minute); return min(1, len(p)), nil }

// An answer about capacity repeats the failure of a call for the same request. Other answers do not.
func TestOutcome_Dependency(t *testing.T) {
	teapots := throttle.Config{Classify: throttle.RejectIf(func(err error) bool {
		var response *httpthrottle.ResponseError
		return errors.As(err, &response) && response.StatusCode == http.StatusTeapot
	})}
	calls := func(transport *httpthrottle.Transport, answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if res, err := transport.RoundTrip(get(r.Context())); err == nil {
				_ = res.Body.Close()
			}
			answer(w, r)
		}
	}
	gets := func(base http.RoundTripper) *httpthrottle.Transport {
		return newTransport(t, base, httpthrottle.TransportConfig{})
	}
	sheds := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, sheds, host))
	outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{
		"shed":                   {serve: calls(sheds, writes(503)), want: "ignored/shed"},
		"shed, 429":              {serve: calls(sheds, writes(429)), want: "ignored/shed"},
		"shed, 500":              {serve: calls(sheds, writes(500)), want: "accepted/other"},
		"shed, 200 from a cache": {serve: calls(sheds, writes(200)), want: "accepted/none"},
		"503":                    {serve: calls(gets(answers(503, "")), writes(502)), want: "ignored/availability"},
		"429":                    {serve: calls(gets(answers(429, "")), writes(503)), want: "ignored/quota"},
		"refused":                {serve: calls(gets(fails(errPlain)), writes(502)), want: "ignored/availability"},
		"404, and an own 503":    {serve: calls(gets(answers(404, "")), writes(503)), want: "rejected/availability"},
		"invalid, and a 502":     {serve: calls(gets(fails(errors.New("idna: invalid label"))), writes(502)), want: "accepted/bad"},
		"rejected by a Classify": {serve: calls(newTransport(t, answers(418, ""), httpthrottle.TransportConfig{Throttle: teapots}), writes(503)), want: "ignored/availability"},
		"one that was cancelled": {serve: calls(gets(fails(context.Canceled)), writes(503)), want: "rejected/availability"},
		"503, but Tell before":   {serve: calls(gets(answers(503, "")), tells(faults.Unavailable(0), 503)), want: "rejected/availability"},
		"not sent: too late": {serve: func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * time.Second)
			calls(gets(unwanted(t)), writes(503))(w, r)
		}, within: time.Second, want: "rejected/timeout"},
	})
}

// A request that waits for a host which hangs is not slow because of this server.
func TestOutcome_WaitingForADependency(t *testing.T) {
	for name, c := range map[string]struct {
		deadline, hangUp time.Duration
		want, host       string
	}{
		"deadline": {time.Minute, time.Hour, "ignored/timeout", "rejected/timeout"}, "client disconnects": {0, time.Minute, "ignored/canceled", "rejected/canceled"},
	} {
		transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), httpthrottle.TransportConfig{})
		outcomes(t, httpthrottle.MiddlewareConfig{}, map[string]handled{name: {serve: func(w http.ResponseWriter, r *http.Request) {
			time.AfterFunc(c.hangUp, func() { hangUp(r) })
			forwards(transport).ServeHTTP(w, r)
		}, within: c.deadline, want: c.want}})
		equal(t, name+": the host", books(throttleOf(t, transport, host)), "1 medium "+c.host)
	}
}

// forwards is a handler as the documentation has it.
func forwards(transport http.RoundTripper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := transport.RoundTrip(get(r.Context()))
		if err != nil {
			httpthrottle.ErrorHandler(w, r, err)
			return
		}
		defer res.Body.Close()
		_ = httpthrottle.Forward(w, res)
	})
}

// A response that is forwarded, and an error of a proxy, say nothing about the capacity here. No transport of ours is in between.
func TestOutcome_Forward(t *testing.T) {
	cases := map[string]handled{}
	for status, want := range map[int]string{
		200: "accepted/none", 404: "accepted/missing", 500: "accepted/other",
		429: "ignored/quota", 502: "ignored/availability", 503: "ignored/availability", 504: "ignored/timeout",
	} {
		forward := forwards(answers(status, "text"))
		cases[fmt.Sprint(status)] = handled{serve: forward.ServeHTTP, want: want, status: status}
		cases[fmt.Sprint("TimeoutHandler ", status)] = handled{serve: http.TimeoutHandler(forward, time.Minute, "").ServeHTTP, want: want, status: status}
	}
	proxy := func(err error) http.HandlerFunc {
		return (&httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: host}) },
			Transport: fails(err), ErrorHandler: httpthrottle.ErrorHandler,
		}).ServeHTTP
	}
	cases["shed"] = handled{serve: proxy(throttle.ErrShed), want: "ignored/shed", status: 503}
	cases["refused"] = handled{serve: proxy(&net.OpError{Op: "dial", Err: errPlain}), want: "ignored/availability", status: 503}
	cases["timeout"] = handled{serve: proxy(context.DeadlineExceeded), want: "ignored/timeout", status: 503}
	cases["a mistake"] = handled{serve: proxy(errors.New("unsupported protocol scheme")), want: "rejected/availability", status: 502}
	outcomes(t, httpthrottle.MiddlewareConfig{}, cases)
}
