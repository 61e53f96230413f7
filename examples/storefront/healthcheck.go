package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthTimeout is the longest time that a healthy storefront takes to answer.
const healthTimeout = 2 * time.Second

// checkHealth returns nil if /healthz of a storefront in another process answers with status 200 in time. It is for
// containers, whose image has no other program to make the request.
func checkHealth(ctx context.Context, listen string, transport http.RoundTripper) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	url := "http://" + dialAddress(listen) + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("-healthcheck: %w", err)
	}
	response, err := transport.RoundTrip(r) // does not follow redirects: the storefront sends none
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

// dialAddress returns the address at which a client on this machine reaches a listener.
func dialAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen // parse has rejected it before
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
