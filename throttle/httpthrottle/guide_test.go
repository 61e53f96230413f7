package httpthrottle_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The code of README.md, and the tests that run it.

// readmeClient returns the README's client.
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

// readmeServer returns the README's server.
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
