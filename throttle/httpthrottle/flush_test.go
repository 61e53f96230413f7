package httpthrottle_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// A ResponseController finds the server under whatever others have put around it, and the throttle hears of the header that it sends.
func TestFlushesThroughAWrapperAreTold(t *testing.T) {
	for name, outer := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"wrapped":         func(w http.ResponseWriter) http.ResponseWriter { return wrapped{w} },
		"wrapped twice":   func(w http.ResponseWriter) http.ResponseWriter { return wrapped{wrapped{w}} },
		"with errors":     func(http.ResponseWriter) http.ResponseWriter { return wrapped{quietly{}} },
		"with no Flusher": func(http.ResponseWriter) http.ResponseWriter { return quietly{} },
	} {
		w := httptest.NewRecorder()
		th := newThrottle(t, throttle.Config{})
		server := outer(w)
		httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			equal(t, name+": abilities", abilities(w), abilities(server))
			equal(t, name+": error", http.NewResponseController(w).Flush(), nil)
			equal(t, name+": told", books(th), "1 high accepted/none, 1 high in flight")
			equal(t, name+": WriteError", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
			w.WriteHeader(http.StatusServiceUnavailable) // too late
		})).ServeHTTP(server, incoming(t.Context()))
		equal(t, name+": body", w.Body.String(), "")
		equal(t, name+": in the end", books(th), "1 high accepted/none")
	}
}

// quietly can flush, but only as a ResponseController asks for it.
type quietly struct{ nowhereAtAll }

func (quietly) FlushError() error { return nil }

type nowhereAtAll struct{}

func (nowhereAtAll) Header() http.Header         { return http.Header{} }
func (nowhereAtAll) Write(p []byte) (int, error) { return len(p), nil }
func (nowhereAtAll) WriteHeader(int)             {}

// A flush that nobody can do sends no header, in a middleware within another one too.
func TestFlushesThatNobodyCanDo(t *testing.T) {
	outer, inner := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
	handler := httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		equal(t, "not supported", errors.Is(http.NewResponseController(w).Flush(), http.ErrNotSupported), true)
		equal(t, "not told", books(inner)+books(outer), "1 high in flight1 high in flight")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	httpthrottle.Middleware(outer, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP(plain{nowhereAtAll{}}, incoming(t.Context()))
	equal(t, "inner", books(inner), "1 high rejected/availability")
	equal(t, "outer", books(outer), "1 high rejected/availability")
}
