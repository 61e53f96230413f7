package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
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
	th, err := throttle.New(throttle.Config{Name: "shop", Rand: func() float64 { return 0 }}) // makes the example deterministic
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no database connection is free", http.StatusServiceUnavailable)
	})
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	server := httptest.NewServer(serve(mux))
	defer server.Close()

	for { // until the throttle sheds
		response, err := http.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
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
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
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

// A retrier retries requests that a server had no capacity for, within a budget. Each request adds a
// tenth of a retry to it, up to ten retries. If all requests fail, the retries add 10 % to the load.
type retrier struct {
	base   http.RoundTripper
	sleep  func(context.Context, time.Duration) error
	budget float64 // number of retries; guard it with a mutex in a program
}

func (t *retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	t.budget = min(t.budget+0.1, 10)
	for {
		response, err := t.base.RoundTrip(r)
		if err != nil { // includes shed requests, which must not be retried at once
			return response, err
		}
		delay := response.Header.Get("Retry-After")
		wait, _ := time.ParseDuration(delay + "s") // the example ignores dates
		if response.StatusCode != http.StatusServiceUnavailable || wait <= 0 || r.Body != nil && r.Body != http.NoBody || t.budget < 1 {
			return response, nil
		}
		t.budget--
		_ = response.Body.Close()
		if err := t.sleep(r.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// Retries go around the transport, so that each attempt passes the throttle. They wait for the delay in
// Retry-After. They stop at a shed, or if the budget is empty.
func Example_retries() {
	draw := 1.0 // no request is shed at first
	requests := 0
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests%3 == 0 {
			fmt.Fprint(w, "text")
			return
		}
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()
	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends", Rand: func() float64 { return draw }},
	}))
	client := &http.Client{Transport: &retrier{base: transport, budget: 3, sleep: func(_ context.Context, d time.Duration) error {
		fmt.Println("  waiting", d)
		return nil
	}}}
	get := func() string {
		response, err := client.Get(backend.URL)
		if err != nil {
			return fmt.Sprint("shed: ", errors.Is(err, throttle.ErrShed))
		}
		_ = response.Body.Close()
		return response.Status
	}
	fmt.Println(get()) // succeeds at the third attempt
	fmt.Println(get()) // has budget for one retry

	draw = 0
	for get() != "shed: true" { // until the throttle sheds
		client.Transport.(*retrier).budget = 0
	}
	client.Transport.(*retrier).budget = 10
	before := requests
	fmt.Println(get()) // is not retried
	fmt.Println("sent:", requests-before)
	// Output:
	//   waiting 2s
	//   waiting 2s
	// 200 OK
	//   waiting 2s
	// 503 Service Unavailable
	// shed: true
	// sent: 0
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
	err = th.Tune(func(tuning *throttle.Tuning) { tuning.Mode = throttle.ModeOff })
	fmt.Println("shed when switched off:", errors.Is(get(), throttle.ErrShed), err)

	err = transport.Group().Tune(func(tuning *throttle.Tuning) { tuning.Mode = throttle.ModeOff })
	fmt.Println("all are off, later ones too:", err == nil)
	// Output:
	// shed: true
	// shed when switched off: false <nil>
	// all are off, later ones too: true
}
