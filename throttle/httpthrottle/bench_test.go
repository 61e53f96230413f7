//go:build !race

package httpthrottle_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// BenchmarkPaths is what the package costs by itself.
func BenchmarkPaths(b *testing.B) {
	for _, p := range paths(b) {
		for name, run := range map[string]func(){"bare": p.bare, "throttled": p.ours} {
			b.Run(p.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// BenchmarkLoopback is what it costs beside a request to a real server on the same machine, in the client and in the server.
func BenchmarkLoopback(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") })
	bare := httptest.NewServer(handler)
	defer bare.Close()
	guarded := httptest.NewServer(httpthrottle.Middleware(newThrottle(b, throttle.Config{}), httpthrottle.MiddlewareConfig{})(handler))
	defer guarded.Close()
	transport := newTransport(b, nil, httpthrottle.TransportConfig{})
	for _, c := range []struct {
		name    string
		client  *http.Client
		address string
	}{{"bare", http.DefaultClient, bare.URL}, {"client", &http.Client{Transport: transport}, bare.URL}, {"server", http.DefaultClient, guarded.URL}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response, err := c.client.Get(c.address)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}
