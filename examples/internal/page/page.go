// Package page serves the live pages of the examples: their files, their samples as server-sent
// events, and protection from the pages of other sites.
package page

import (
	"embed"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
)

// shared has the files that every page uses: the chart, the icon, colours and controls.
//
//go:embed assets
var shared embed.FS

// contentPolicy is the Content-Security-Policy: a page loads only what its process serves.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handle serves the file page/index.html of own at /. The other files in that folder are below
// /assets/, together with those that all pages share.
func Handle(mux *http.ServeMux, own fs.FS) {
	for name, data := range files(own, "page") {
		if name == "index.html" {
			mux.Handle("GET /{$}", asset(name, data))
		} else {
			mux.Handle("GET /assets/"+name, asset(name, data))
		}
	}
	for name, data := range files(shared, "assets") {
		mux.Handle("GET /assets/"+name, asset(name, data))
	}
}

// files returns the files of an embedded folder by name.
func files(of fs.FS, folder string) map[string][]byte {
	entries, err := fs.ReadDir(of, folder)
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
	}
	found := map[string][]byte{}
	for _, entry := range entries {
		data, err := fs.ReadFile(of, path.Join(folder, entry.Name()))
		if err != nil {
			panic(err) // cannot happen: the file is embedded
		}
		found[entry.Name()] = data
	}
	return found
}

// asset returns a handler that serves a file.
func asset(name string, data []byte) http.Handler {
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

// WithHeaders sets the security headers of every response.
func WithHeaders(next http.Handler) http.Handler {
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

// SameOrigin rejects requests that a page of another site has made. Programs other than browsers,
// such as curl, are let through.
func SameOrigin(next http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(next) }

// KnownHost rejects requests for another host name, as protection from DNS rebinding: the page of
// another site may have made its own name resolve to this machine. listen is the address of the
// server.
func KnownHost(listen string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOurs(r.Host, listen) {
			WriteJSON(w, http.StatusForbidden, map[string]string{
				"error": "unknown host name in the request: use the address that the program prints, or localhost",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOurs reports whether the host of a request is one of these, which no other site can use:
//   - an IP address
//   - the host on which the program listens
//   - a local name: one without a dot, or one that ends in .localhost
func isOurs(hostport, listen string) bool {
	host := nameOf(hostport)
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(host)
	return host != "" && (host == strings.ToLower(nameOf(listen)) || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost"))
}

// nameOf returns the host without its port.
func nameOf(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		return name
	}
	return hostport
}
