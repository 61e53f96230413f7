package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// sameOrigin lets only our own page, and programs that are no browsers, through to next. Another page in the visitor's browser
// is refused by what the browser says of it.
func sameOrigin(next http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(next) }

// knownHost refuses a page whose name was made to point to this machine, by that name.
func knownHost(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ourHost(r.Host, own) {
			answer(w, http.StatusForbidden, map[string]string{"error": "storefront: the page has another address: use that of -listen, or localhost"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ourHost reports whether the host is one that a stranger cannot have made point here: an address, the name that we listen on, or a
// name that is only known in this house, as those without a dot are.
func ourHost(hostport, own string) bool {
	host := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(host)
	return host != "" && (host == strings.ToLower(own) || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost"))
}
