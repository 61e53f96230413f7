package httpthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// An answer about capacity repeats the failure of a call for the same request. Other answers do not.
func TestWriter_DependencyFailed(t *testing.T) {
	teapots := throttle.Config{Classify: throttle.RejectIf(func(err error) bool {
		var response *httpthrottle.ResponseError
		return errors.As(err, &response) && response.StatusCode == http.StatusTeapot
	})}
	sheds := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, sheds, host))
	plainly := func(base http.RoundTripper) *httpthrottle.Transport {
		return newTransport(t, base, httpthrottle.TransportConfig{})
	}
	for name, c := range map[string]struct {
		transport *httpthrottle.Transport
		status    int
		want      string
	}{
		"shed":                   {sheds, 503, "ignored/shed"},
		"shed, 429":              {sheds, 429, "ignored/shed"},
		"shed, 500":              {sheds, 500, "accepted/other"},
		"shed, 404":              {sheds, 404, "accepted/missing"},
		"shed, 200 from a cache": {sheds, 200, "accepted/none"},
		"503":                    {plainly(answers(503, "")), 502, "ignored/availability"},
		"429":                    {plainly(answers(429, "")), 503, "ignored/quota"},
		"504":                    {plainly(answers(504, "")), 503, "ignored/timeout"},
		"refused":                {plainly(fails(errPlain)), 502, "ignored/availability"},
		"marked":                 {plainly(fails(throttle.MarkRejected(errPlain))), 503, "ignored/availability"},
		"404, and an own 503":    {plainly(answers(404, "")), 503, "rejected/availability"},
		"200, and an own 503":    {plainly(answers(200, "")), 503, "rejected/availability"},
		"invalid, and a 502":     {plainly(fails(errors.New("idna: invalid label"))), 502, "accepted/bad"},
		"rejected by a Classify": {newTransport(t, answers(418, ""), httpthrottle.TransportConfig{Throttle: teapots}), 503, "ignored/availability"},
		"one that was cancelled": {plainly(fails(context.Canceled)), 503, "rejected/availability"},
	} {
		outer, th := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
		inner := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			res, err := c.transport.RoundTrip(get(r.Context()))
			if err == nil {
				_ = res.Body.Close()
			}
			w.WriteHeader(c.status)
		}))
		served(outer, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), inner.ServeHTTP)
		equal(t, name, books(th), "1 medium "+c.want)
		equal(t, name+", outer", books(outer), "1 medium "+c.want)
	}
}

// The handler reports a lack of capacity of its own, although a call has failed too.
func TestWriter_TellBeforeADependency(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	transport := newTransport(t, answers(503, ""), httpthrottle.TransportConfig{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
		read(t, transport, get(r.Context()))
		callTell(w, faults.Unavailable(0))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	equal(t, "books", books(th), "1 medium rejected/availability")
}

// A request that waits for a host which hangs is not slow because of this server.
func TestWriter_WaitingForADependency(t *testing.T) {
	hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for name, c := range map[string]struct {
		end        func(context.Context, time.Duration) (context.Context, context.CancelFunc)
		want, host string
	}{
		"deadline": {context.WithTimeout, "ignored/timeout", "rejected/timeout"},
		"client disconnects": {func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(after, cancel)
			return ctx, cancel
		}, "ignored/canceled", "rejected/canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := c.end(t.Context(), time.Minute)
			defer cancel()
			th, transport := newThrottle(t, throttle.Config{}), newTransport(t, hangs, httpthrottle.TransportConfig{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), forwards(transport).ServeHTTP)
			equal(t, name, books(th), "1 medium "+c.want)
			equal(t, name+": the host", books(throttleOf(t, transport, host)), "1 medium "+c.host)
		})
	}
}

// A handler that is slow itself, and then makes a call that is too late to be sent, has waited for no dependency.
func TestWriter_CallAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, transport := newThrottle(t, throttle.Config{}), newTransport(t, unwanted(t), httpthrottle.TransportConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * time.Second)
			_, err := transport.RoundTrip(get(r.Context())) //nolint:bodyclose // there is none
			equal(t, "error", err, context.DeadlineExceeded)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		equal(t, "books", books(th), "1 medium rejected/timeout")
	})
}
