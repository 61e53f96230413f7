package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// A client with one throttle per host.
func ExampleNewTransport() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer backend.Close()

	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends", Rand: func() float64 { return 0 }}, // makes the example deterministic
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	for { // until the throttle sheds
		response, err := client.Get(backend.URL)
		if errors.Is(err, throttle.ErrShed) {
			fmt.Println("shed: nothing was sent")
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = response.Body.Close()
	}
	// Output:
	// shed: nothing was sent
}

// A server that sheds requests which its handler has no capacity for.
func ExampleMiddleware() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop", Rand: func() float64 { return 0 }})) // makes the example deterministic
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no database connection is free", http.StatusServiceUnavailable)
	})
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	server := httptest.NewServer(serve(mux))
	defer server.Close()

	for { // until the throttle sheds
		response := throttle.Must(http.Get(server.URL))
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if delay := response.Header.Get("Retry-After"); delay != "" { // shed: the handler sets no Retry-After
			fmt.Printf("%s, Retry-After %s\n%s", response.Status, delay, text)
			return
		}
	}
	// Output:
	// 503 Service Unavailable, Retry-After 1
	// {"title":"Service Unavailable","status":503,"detail":"The server has no capacity for this request. Try again after the delay in Retry-After."}
}

// A browser calls a frontend, which calls a backend. The frontend trusts no sender and sets the
// priority itself. It travels to the backend, which trusts the frontend, up to important.
func Example_chain() {
	priority := func(r *http.Request) throttle.Priority {
		return throttle.PriorityFromContext(r.Context(), throttle.Low)
	}
	backend := httptest.NewServer(httpthrottle.Middleware(
		throttle.Must(throttle.New(throttle.Config{Name: "backend"})),
		httpthrottle.MiddlewareConfig{
			Trust: throttle.Trust{
				Peer: httpthrottle.PeerFunc(func(r *http.Request) bool { // a private network, or a certificate
					return strings.HasPrefix(r.RemoteAddr, "127.")
				}),
				Ceiling: throttle.Important,
				Default: throttle.Low,
			},
		},
	)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "backend:", priority(r)) })))
	defer backend.Close()

	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends"},
		Send:     func(r *http.Request) bool { return "http://"+r.URL.Host == backend.URL }, // only to our own backend
	}))
	defer transport.Close()
	frontend := httptest.NewServer(httpthrottle.Middleware(
		throttle.Must(throttle.New(throttle.Config{Name: "frontend"})),
		httpthrottle.MiddlewareConfig{Priority: func(r *http.Request) throttle.Priority {
			if r.URL.Path == "/checkout" {
				return throttle.High
			}
			return throttle.Medium
		}},
	)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "frontend:", priority(r))
		onward, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, backend.URL, http.NoBody)
		response, err := transport.RoundTrip(onward)
		if err != nil {
			if !httpthrottle.WriteError(w, r, err) {
				http.Error(w, "no backend", http.StatusBadGateway)
			}
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(w, response.Body)
	})))
	defer frontend.Close()

	for _, path := range []string{"/browse", "/checkout"} {
		r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, frontend.URL+path, http.NoBody)
		r.Header.Set(httpthrottle.PriorityHeader, "high") // not trusted
		response := throttle.Must(http.DefaultClient.Do(r))
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		fmt.Printf("%s\n%s", path, text)
	}
	// Output:
	// /browse
	// frontend: medium
	// backend: medium
	// /checkout
	// frontend: high
	// backend: important
}

// A transport retries what the host had no capacity for. Every attempt passes the throttle, and the
// budget limits all retries to that host together.
func Example_retries() {
	requests := 0
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		number := r.Header.Get(httpthrottle.AttemptHeader) // empty for a first attempt
		if r.URL.Path == "/moment" && number == "2" {
			fmt.Fprint(w, "text")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()

	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends", Rand: func() float64 { return 1 }}, // sheds nothing in this example
		Retry:    &retry.Config{},                                                      // three attempts, 10 % of the accepted requests
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	get := func(path string) string {
		response, err := client.Get(backend.URL + path)
		if err != nil {
			return err.Error()
		}
		_ = response.Body.Close()
		return response.Status
	}
	fmt.Println(get("/moment"), "after", requests, "requests")

	requests = 0
	for range 100 {
		get("/outage")
	}
	fmt.Println("outage: 100 calls", requests, "requests")
	// Output:
	// 200 OK after 2 requests
	// outage: 100 calls 102 requests
}

// With retries on, a POST is still sent once, because a second one may do harm. An Idempotency-Key allows retries.
func ExampleTransportConfig_retry() {
	requests := 0
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()

	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends"},
		Retry:    &retry.Config{}, // three attempts, 10 % of the accepted requests
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}
	response, err := client.Post(backend.URL, "text/plain", strings.NewReader("an order"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = response.Body.Close()
	fmt.Println(response.Status, "after", requests, "request")
	// Output:
	// 503 Service Unavailable after 1 request
}

// A throttle can be switched off at run time. It still counts.
func ExampleTransport_Group() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()
	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends", Rand: func() float64 { return 0 }}, // makes the example deterministic
	}))
	client := &http.Client{Transport: transport}
	get := func() error {
		response, err := client.Get(backend.URL)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	for !errors.Is(get(), throttle.ErrShed) { // until the throttle sheds
	}
	fmt.Println("shed:", errors.Is(get(), throttle.ErrShed))

	th, err := transport.Group().Get(strings.TrimPrefix(backend.URL, "http://"))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = th.Tune(throttle.Patch{Mode: new(throttle.ModeOff)})
	fmt.Println("shed when switched off:", errors.Is(get(), throttle.ErrShed), err)

	err = transport.Group().Tune(throttle.Patch{Mode: new(throttle.ModeOff)})
	fmt.Println("all are off, later ones too:", err == nil)
	// Output:
	// shed: true
	// shed when switched off: false <nil>
	// all are off, later ones too: true
}

// A server that says in each answer what it sheds, and a client that sheds it before.
func ExampleTransportConfig_listen() {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	for range 1000 { // the backend of the shop is full
		_ = th.Do(context.Background(), throttle.Medium, func(context.Context) error {
			return throttle.MarkOverloaded(errors.New("no connection is free"))
		})
	}
	handler := http.NotFoundHandler()
	internal := func(r *http.Request) bool { return strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") }

	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{
		Tell: internal, // default: the clients that Trust.Peer accepts
	})(handler)
	server := httptest.NewServer(serve)
	defer server.Close()

	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends"},
		Listen:   func(r *http.Request) bool { return r.URL.Host == server.Listener.Addr().String() },
	}))
	response := throttle.Must((&http.Client{Transport: transport}).Get(server.URL))
	_ = response.Body.Close()
	for host, th := range transport.Group().All() {
		fmt.Println(host == server.Listener.Addr().String(), response.StatusCode, th.Stats().Received)
	}
	// Output:
	// true 503 overloaded
}

// A server that is fair to its customers: a login has put the account into the context.
func ExampleMiddlewareConfig_tenant() {
	type account struct{}
	accountOf := func(r *http.Request) string { s, _ := r.Context().Value(account{}).(string); return s }
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println("served", throttle.TenantFromContext(r.Context()))
	})

	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{
		Tenant: accountOf, // from what your login has checked
	})(handler)

	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r = r.WithContext(context.WithValue(r.Context(), account{}, "account 17"))
	serve.ServeHTTP(httptest.NewRecorder(), r)
	// Output: served account 17
}
