package main

import (
	"embed"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-go/spillway/examples/internal/page"
)

//go:embed page
var files embed.FS

// handler returns the handler of all addresses. Only the page and /healthz are served under any
// host name.
func (f *storefront) handler(listen string) http.Handler {
	mux := http.NewServeMux()
	page.Handle(mux, files)
	mux.Handle("GET /stream", page.KnownHost(listen, f.stream))
	mux.Handle("POST /control", page.KnownHost(listen, page.SameOrigin(&control{f.scenario})))
	mux.Handle("POST /alerts", page.KnownHost(listen, page.SameOrigin(f.alerts)))
	mux.Handle("GET /metrics", page.KnownHost(listen, promhttp.HandlerFor(f.telemetry.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.Handle("/debug/throttle", page.KnownHost(listen, f.status))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // fails if the client has disconnected
	})
	return page.WithHeaders(mux)
}
