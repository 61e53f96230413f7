package main

import (
	"embed"
	"io"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-go/spillway/examples/internal/origin"
)

//go:embed page
var pages embed.FS

// contentPolicy is the Content-Security-Policy: the page loads only what this process serves.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newServer returns a server with limits for slow and broken clients. The stream sets deadlines of
// its own.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}

// handler returns the handler of all addresses. Only the page and /healthz are served under any
// host name.
func (f *storefront) handler(listen string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", asset("page/index.html"))
	for _, name := range assets() {
		mux.Handle("GET /assets/"+name, asset("page/"+name))
	}
	mux.Handle("GET /stream", knownHost(listen, f.stream))
	mux.Handle("POST /control", knownHost(listen, sameOrigin(&control{f.scenario})))
	mux.Handle("POST /alerts", knownHost(listen, sameOrigin(f.alerts)))
	mux.Handle("GET /metrics", knownHost(listen, promhttp.HandlerFor(f.telemetry.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.Handle("/debug/throttle", knownHost(listen, f.status))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // fails if the client has disconnected
	})
	return withHeaders(mux)
}

// sameOrigin rejects requests that a page of another site has made. Programs other than browsers,
// such as curl, are let through.
func sameOrigin(next http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(next) }

// knownHost rejects requests for another host name, as protection from DNS rebinding: the page of
// another site may have made its own name resolve to this machine.
func knownHost(listen string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !origin.IsOurs(r.Host, listen) {
			writeJSON(w, http.StatusForbidden, map[string]string{
				"error": "storefront: unknown host name in the request: use the address of -listen, or localhost",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withHeaders sets the security headers of every response.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// assets returns the names of the page's files.
func assets() []string {
	entries, err := pages.ReadDir("page")
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// asset returns a handler that serves a file of the page.
func asset(name string) http.Handler {
	data, err := pages.ReadFile(name)
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	kind := mediaType(name)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // fails if the client has disconnected
	})
}

// mediaType returns the type of a file. It does not look up scripts and pictures in the table of
// the operating system, which is often incomplete.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(ext)
	}
}
