package httpthrottle_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// chain is a reverse proxy with a throttle on either side of it, before a backend that knows what it is told.
type chain struct {
	proxy     *httptest.Server
	address   string // of the backend
	own       *throttle.Throttle
	transport *httpthrottle.Transport
	requests  *sync.WaitGroup // that the proxy serves
}

func newChain(t *testing.T, backend http.HandlerFunc) *chain {
	t.Helper()
	c := &chain{own: newThrottle(t, throttle.Config{}), requests: &sync.WaitGroup{}}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	c.address = strings.TrimPrefix(server.URL, "http://")
	c.transport = newTransport(t, &http.Transport{}, httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }})
	t.Cleanup(c.transport.CloseIdleConnections)
	u, _ := url.Parse(server.URL)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: c.transport, ErrorLog: quiet()}
	serve := httpthrottle.Middleware(c.own, httpthrottle.MiddlewareConfig{Default: throttle.Low})
	c.proxy = httptest.NewServer(tracked{serve(proxy), c.requests})
	t.Cleanup(c.proxy.Close)
	return c
}

// A browser that says how much it matters is believed by nobody, not even by those who believe the proxy.
func TestProxiesForwardNoPriorityButTheirOwn(t *testing.T) {
	c := newChain(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header[httpthrottle.PriorityHeader])
	})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.proxy.URL, http.NoBody)
	r.Header[httpthrottle.PriorityHeader] = []string{"high", "high"}
	equal(t, "the backend is told", read(t, c.proxy.Client().Transport, r), "[low]")
	c.end()
	equal(t, "proxy", books(c.own), "1 low accepted/none")
	equal(t, "backend", books(throttleOf(t, c.transport, c.address)), "1 low accepted/none")
}

func TestProxiesForwardUpgrades(t *testing.T) {
	c := newChain(t, upgrade)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.proxy.URL, http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "loud")
	response, err := c.proxy.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	conn := response.Body.(io.ReadWriteCloser)
	_, _ = io.WriteString(conn, "one\n")
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	equal(t, "answer", answer, "ONE\n")
	equal(t, "backend, meanwhile", books(throttleOf(t, c.transport, c.address)), "1 low accepted/none, 1 low in flight")
	_ = conn.Close()
	c.end()
	equal(t, "proxy", books(c.own), "1 low accepted/none")
	equal(t, "backend", books(throttleOf(t, c.transport, c.address)), "1 low accepted/none")
}

// Clients that break off their uploads must not turn the proxy against its backend.
func TestProxiesDoNotBlameTheBackendForUploads(t *testing.T) {
	c := newChain(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	for range 10 {
		body := io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(errPlain))
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, c.proxy.URL, body)
		if response, err := c.proxy.Client().Do(r); err == nil {
			_ = response.Body.Close()
		}
	}
	c.end()
	for name, th := range map[string]*throttle.Throttle{"proxy": c.own, "backend": throttleOf(t, c.transport, c.address)} {
		stats := th.Stats().Priorities[throttle.Low]
		if name == "backend" {
			equal(t, name+": rejected", stats.Ended.Outcome(throttle.Rejected), 0)
		}
		equal(t, name+": in flight", stats.InFlight, 0)
	}
}

// What is shed on the way to a sick backend must not have the proxy shed what is for healthy ones. That is the ErrorHandler's to say.
func TestProxiesAreToldOfWhatWasShed(t *testing.T) {
	transport := newTransport(t, unwanted(t), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, transport, host))
	for name, c := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request, error)
		status  int
		want    string
	}{
		"httputil's":   {nil, http.StatusBadGateway, "1 high rejected/availability"},
		"WriteError's": {func(w http.ResponseWriter, r *http.Request, err error) { httpthrottle.WriteError(w, r, err) }, http.StatusServiceUnavailable, "1 high ignored/shed"},
	} {
		own := newThrottle(t, throttle.Config{})
		w := served(own, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), (&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: host}) }, Transport: transport, ErrorLog: quiet(), ErrorHandler: c.handler,
		}).ServeHTTP)
		equal(t, name+": status", w.Code, c.status)
		equal(t, name, books(own), c.want)
	}
}

// end waits until the proxy has served its requests, those that nobody waits for among them.
func (c *chain) end() {
	c.proxy.Close()
	c.requests.Wait()
}
