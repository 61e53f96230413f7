package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// healthTimeout is how long a healthy storefront may take to say so.
const healthTimeout = 2 * time.Second

// healthcheck asks a storefront that runs whether it is well. It is for containers, which have no other program that could ask.
type healthcheck struct {
	listen    string // where the storefront listens
	transport http.RoundTripper
}

func newHealthcheck(listen string) healthcheck {
	return healthcheck{listen: listen, transport: &http.Transport{DisableKeepAlives: true}} // without the environment's proxy
}

// ask returns nil if the storefront is well, or what it lacks.
func (h healthcheck) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	url := "http://" + reachable(h.listen) + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("-healthcheck: %w", err)
	}
	response, err := h.transport.RoundTrip(r) // a redirection is no answer of ours
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("-healthcheck: %s: got no answer within %v", url, healthTimeout)
	case err != nil:
		return fmt.Errorf("-healthcheck: %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("-healthcheck: %s: got status %d want 200", url, response.StatusCode)
	}
	return nil
}

// reachable returns the address at which one finds who listens there. All addresses of a machine are found at its own.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen // parse has refused it
	}
	ip, _ := netip.ParseAddr(host) // or it is a name
	switch ip.Unmap() {
	case netip.IPv4Unspecified():
		host = "127.0.0.1"
	case netip.IPv6Unspecified():
		host = "::1"
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
