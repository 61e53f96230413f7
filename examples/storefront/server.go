package main

import (
	"embed"
	"io"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

//go:embed page
var pages embed.FS

// security is what our pages may do: use what this process serves, and nothing else.
const security = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newServer returns a server that puts up with strange clients. Streams set deadlines of their own.
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

// handler returns everything that the storefront serves.
func (f *storefront) handler(listen string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", asset("page/index.html"))
	for _, name := range assets() {
		mux.Handle("GET /assets/"+name, asset("page/"+name))
	}
	mux.Handle("GET /stream", knownHost(listen, f.stream))
	mux.Handle("POST /control", knownHost(listen, sameOrigin(&control{f.director})))
	mux.Handle("POST /alerts", knownHost(listen, sameOrigin(f.alerts)))
	mux.Handle("GET /metrics", knownHost(listen, promhttp.HandlerFor(f.telemetry.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.Handle("/debug/throttle", knownHost(listen, f.status))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // whoever asked may be gone
	})
	return guard(mux)
}

// guard sets the headers of every answer.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", security)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// assets returns the names of what the page is made of.
func assets() []string {
	entries, err := pages.ReadDir("page")
	if err != nil {
		panic(err) // it is compiled in
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// asset serves a file of the page.
func asset(name string) http.Handler {
	data, err := pages.ReadFile(name)
	if err != nil {
		panic(err) // it is compiled in
	}
	kind := mediaType(name)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // whoever asked may be gone
	})
}

// mediaType returns the type of a file. Not every machine's own table knows the right one for scripts.
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
