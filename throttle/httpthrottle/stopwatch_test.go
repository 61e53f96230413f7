package httpthrottle_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// A client that disconnects late has waited too long for this server.
func TestCanceledAfter_Middleware(t *testing.T) {
	for name, c := range map[string]struct {
		limit, waited time.Duration
		want          string
	}{
		"at once":            {0, 0, "ignored/canceled"},
		"early":              {0, time.Second - 1, "ignored/canceled"},
		"after the default":  {0, time.Second, "rejected/canceled"},
		"off":                {-1, 24 * time.Hour, "ignored/canceled"},
		"own limit, early":   {time.Minute, time.Minute - 1, "ignored/canceled"},
		"own limit":          {time.Minute, time.Minute, "rejected/canceled"},
		"too long becomes 1": {24 * time.Hour, time.Hour, "rejected/canceled"},
	} {
		for _, status := range []int{0, 200, 503} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				th := newThrottle(t, throttle.Config{})
				served(th, httpthrottle.MiddlewareConfig{CanceledAfter: c.limit}, incoming(ctx), func(w http.ResponseWriter, _ *http.Request) {
					time.Sleep(c.waited)
					cancel()
					if status != 0 {
						w.WriteHeader(status)
					}
				})
				equal(t, name, books(th), "1 medium "+c.want)
			})
		}
	}
}

// A stream may last for any time, and its client may disconnect at any time.
func TestCanceledAfter_Streams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		th := newThrottle(t, throttle.Config{})
		served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: 1\n\n")
			time.Sleep(time.Hour)
			cancel()
		})
		equal(t, "books", books(th), "1 medium accepted/none")
	})
}

type drip struct{}

func (drip) Read(p []byte) (int, error) {
	time.Sleep(time.Minute)
	return len(p), nil
}

// A client that breaks off a slow upload does not count against this server, only one that waits afterwards.
func TestCanceledAfter_SlowUploads(t *testing.T) {
	for waited, want := range map[time.Duration]string{0: "ignored/canceled", time.Second: "rejected/canceled"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			th := newThrottle(t, throttle.Config{})
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", io.LimitReader(drip{}, 3))
			served(th, httpthrottle.MiddlewareConfig{}, r, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = r.Body.Read(make([]byte, 1))
				_, _ = r.Body.Read(make([]byte, 1))
				time.Sleep(waited)
				cancel()
			})
			equal(t, waited.String(), books(th), "1 medium "+want)
		})
	}
}
