// Package origin tells the pages of examples from those of strangers.
package origin

import (
	"net"
	"net/netip"
	"strings"
)

// IsOurs reports whether a request's host is one that a stranger cannot have made point here: an address, the name that we listen on, or
// a name that is only known in this house, as those without a dot are.
func IsOurs(hostport, listen string) bool {
	host := nameOf(hostport)
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(host)
	return host != "" && (host == strings.ToLower(nameOf(listen)) || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost"))
}

// nameOf returns what stands before the port, if there is one.
func nameOf(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		return name
	}
	return hostport
}
