package recipes

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// proxyTo forwards to one backend, with a throttle inside and one around it.
func proxyTo(backend *url.URL, transport *httpthrottle.Transport, edge *throttle.Throttle) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(backend) },
		Transport:    transport,
		ErrorHandler: httpthrottle.ErrorHandler, // 503 with Retry-After for a lack of capacity, else 502
	}
	return httpthrottle.Middleware(edge, httpthrottle.MiddlewareConfig{})(proxy)
}

func TestReverseProxy_AnswersAShedRequest(t *testing.T) {
	var served atomic.Uint64
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer backend.Close()
	target := throttle.Must(url.Parse(backend.URL))
	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{Throttle: decided("backends")}))
	defer transport.Close()
	config := decided("edge")
	config.Mode = throttle.ModeOff // it counts, and each request reaches the proxy
	edge := throttle.Must(throttle.New(config))

	got := call(t, proxyTo(target, transport, edge), "/", 300)
	sheds(t, throttle.Must(transport.Group().Get(target.Host)), got, served.Load())
	// Requests that the transport shed or the backend rejected are ignored: the proxy has capacity.
	if c := countsOf(edge); c.ignored != 300 {
		t.Errorf("the edge: got %+v want 300 requests ignored, %d of them shed inside", c, got.shed)
	}
}
