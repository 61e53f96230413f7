// Package origin recognises requests that the page of a stranger has made.
package origin

import (
	"net"
	"net/netip"
	"strings"
)

// IsOurs reports whether a stranger cannot have made the host of a request point to this machine: it
// is an address, the name that we listen on, or a local name, such as one without a dot.
func IsOurs(hostport, listen string) bool {
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
