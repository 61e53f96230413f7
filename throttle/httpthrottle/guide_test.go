package httpthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The code of README.md and docs/beside-a-mesh.md, and the tests that run it.

func readmeClient() (*http.Client, error) {
	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends"}, // one throttle per host, all with this name
	})
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport}
	return client, nil
}

func readmeServer(mux http.Handler) (*http.Server, error) {
	th, err := throttle.New(throttle.Config{Name: "shop"})
	if err != nil {
		return nil, err
	}
	shed := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{
		Priority: func(r *http.Request) throttle.Priority {
			if r.URL.Path == "/checkout" {
				return throttle.High
			}
			return throttle.Medium
		},
	})
	server := &http.Server{Addr: ":8080", Handler: shed(mux)}
	return server, nil
}

// behindEnvoy is a middleware whose answers Envoy does not retry.
func behindEnvoy(th *throttle.Throttle) func(http.Handler) http.Handler {
	shed := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{
		Problem: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, throttle.ErrShed) {
				w.Header().Set("X-Envoy-Ratelimited", "true") // Envoy does not retry it
			}
			http.Error(w, "The server has no capacity for this request.", http.StatusServiceUnavailable)
		},
	})
	return shed
}

func TestReadmeClient(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()
	client, err := readmeClient()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		response, err := client.Get(backend.URL)
		if errors.Is(err, throttle.ErrShed) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	t.Error("1000 requests to a backend that answers 503: got none shed")
}

func TestReadmeServer(t *testing.T) {
	server, err := readmeServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	if err != nil {
		t.Fatal(err)
	}
	shed := map[string]int{}
	for range 500 {
		for _, path := range []string{"/checkout", "/products"} {
			w := httptest.NewRecorder()
			server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			if w.Header().Get("Retry-After") != "" { // the handler sends none
				shed[path]++
			}
		}
	}
	if shed["/checkout"] == 0 || shed["/products"] <= shed["/checkout"] {
		t.Errorf("shed: got %v want some of both, and fewer checkouts", shed)
	}
}

func TestBehindEnvoy(t *testing.T) {
	th := shedding(t, throttle.Config{})
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"shed":      {t.Context(), "true"},
		"ended too": {over(t), ""},
	} {
		w := httptest.NewRecorder()
		behindEnvoy(th)(http.HandlerFunc(never(t))).ServeHTTP(w, incoming(c.ctx))
		if got := w.Header().Get("X-Envoy-Ratelimited"); got != c.want || w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d with the header %q want 503 with %q", name, w.Code, got, c.want)
		}
	}
}

func over(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
