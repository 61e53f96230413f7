package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// caller sends one request with a priority, and waits for its end. Its context has the patience.
type caller func(ctx context.Context, p throttle.Priority) outcome

// newCaller returns a caller of the server at address, and a function that closes its connections.
// With throttles above 0 the load is spread over as many HTTP clients, each with a throttle of its own,
// which may read load reports.
func newCaller(s shape, address string, throttles int, listens bool) (caller, func(), error) {
	switch s.Protocol {
	case protocolHTTP, protocolHTTP2:
		return httpCallers(s, "http://"+address, throttles, listens)
	case protocolGRPC:
		return grpcCaller(s, address)
	case protocolConnect:
		return connectCaller(s, address)
	}
	return nil, nil, fmt.Errorf("no protocol %q", s.Protocol)
}

// httpCallers returns a caller that uses its clients in turn.
func httpCallers(s shape, url string, throttles int, listens bool) (caller, func(), error) {
	var transports []*http.Transport
	var clients []*http.Client
	for range max(1, throttles) {
		base := newTransport(s)
		client := &http.Client{Transport: base}
		if throttles > 0 {
			throttled, err := httpthrottle.NewTransport(base, httpthrottle.TransportConfig{
				Throttle: throttle.Config{Name: "load"}, Listen: func(*http.Request) bool { return listens },
			})
			if err != nil {
				return nil, nil, err
			}
			client.Transport = throttled
		}
		transports, clients = append(transports, base), append(clients, client)
	}
	turn := make(chan *http.Client, len(clients))
	for _, c := range clients {
		turn <- c
	}
	call := func(ctx context.Context, p throttle.Priority) outcome {
		client := <-turn
		turn <- client
		return get(throttle.WithPriority(ctx, p), client, url, p)
	}
	return call, func() {
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	}, nil
}

// newTransport keeps every connection alive. HTTP/2 has as many connections as the shape says.
func newTransport(s shape) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(s.Protocol != protocolHTTP2)
	protocols.SetUnencryptedHTTP2(s.Protocol == protocolHTTP2)
	return &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 10_000, MaxConnsPerHost: s.Connections}
}

func get(ctx context.Context, client *http.Client, url string, p throttle.Priority) outcome {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return failed
	}
	request.Header.Set(priorityHeader, p.String())
	if tenant := throttle.TenantFromContext(ctx); tenant != "" {
		request.Header.Set(tenantHeader, tenant)
	}
	response, err := client.Do(request)
	if err != nil {
		return outcomeOf(ctx, err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return outcomeOf(ctx, err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		return good
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return shed
	default:
		return failed
	}
}

// outcomeOf returns the outcome of a request without an answer.
func outcomeOf(ctx context.Context, err error) outcome {
	switch {
	case errors.Is(err, throttle.ErrShed):
		return held
	case ctx.Err() != nil:
		return late
	default:
		return failed
	}
}
