package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The smallest client.
func Example_client() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pears") }))
	defer backend.Close()

	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends"},
	}))
	client := &http.Client{Transport: transport}

	response := throttle.Must(client.Get(backend.URL))
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output:
	// 200 OK
}

// The smallest server, and one with a throttle per tenant.
func Example_server() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pears") })

	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	server := httptest.NewServer(serve(mux))
	defer server.Close()
	fmt.Println(throttle.Must(http.Get(server.URL)).Status)

	tenants := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "shop-tenants"}
	}, throttle.GroupConfig{Max: 500}))
	serve = httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{
		Group: tenants,
		Key:   func(r *http.Request) string { return r.Header.Get("Tenant") }, // a value that your authentication has verified
	})
	separate := httptest.NewServer(serve(mux))
	defer separate.Close()
	for _, tenant := range []string{"ann", "bob"} {
		r := throttle.Must(http.NewRequest(http.MethodGet, separate.URL, http.NoBody))
		r.Header.Set("Tenant", tenant)
		_ = throttle.Must(http.DefaultClient.Do(r)).Body.Close()
	}
	fmt.Println("throttles:", tenants.Len())
	// Output:
	// 200 OK
	// throttles: 2
}

// Each route has a throttle of its own. The report needs a database that is down, and does not affect
// the products.
func Example_routes() {
	products := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pears") })
	reports := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no database", http.StatusServiceUnavailable)
	})

	routes := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "shop"}
	}, throttle.GroupConfig{}))
	perRoute := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: routes}) // one per pattern of the mux
	mux := http.NewServeMux()
	mux.Handle("GET /products/{id}", perRoute(products))
	mux.Handle("GET /reports", perRoute(reports))

	server := httptest.NewServer(mux)
	defer server.Close()
	for range 50 {
		_ = throttle.Must(http.Get(server.URL + "/reports")).Body.Close()
	}
	fmt.Println(throttle.Must(http.Get(server.URL + "/products/7")).Status)
	for _, key := range []string{"GET /products/{id}", "GET /reports"} {
		route, _ := routes.Lookup(key)
		fmt.Printf("%s may be shed: %v\n", key, route.RejectionProbability(throttle.Medium) > 0)
	}
	// Output:
	// 200 OK
	// GET /products/{id} may be shed: false
	// GET /reports may be shed: true
}

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

// TestReadme has the client and the server of a backend that is down. Both shed, and the server sheds fewer checkouts.
func TestReadme(t *testing.T) {
	server := throttle.Must(readmeServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})))
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
	backend := httptest.NewServer(server.Handler)
	defer backend.Close()
	client := throttle.Must(readmeClient())
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

func TestBehindEnvoy(t *testing.T) {
	th := shedding(t, throttle.Config{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"shed":      {t.Context(), "true"},
		"ended too": {over, ""},
	} {
		w := httptest.NewRecorder()
		behindEnvoy(th)(http.HandlerFunc(never(t))).ServeHTTP(w, incoming(c.ctx))
		if got := w.Header().Get("X-Envoy-Ratelimited"); got != c.want || w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d with the header %q want 503 with %q", name, w.Code, got, c.want)
		}
	}
}
