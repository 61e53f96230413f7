package page

import (
	"net"
	"net/netip"
	"strings"
)

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
