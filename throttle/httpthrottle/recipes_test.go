package httpthrottle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

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
	for range 200 {
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
