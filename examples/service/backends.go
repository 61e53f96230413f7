package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// slow is how long a call may take before it counts as late. Measure yours before you set it.
const slow = 500 * time.Millisecond

// backends are the clients of the services that the shop needs.
type backends struct {
	stock    *http.Client
	stockURL string
	payments grpc_health_v1.HealthClient // yours is made from your own proto file
	closers  []io.Closer
}

// dial returns clients with a throttle and retries each. They send nothing yet.
func dial(stockURL, paymentsTarget string) (*backends, error) {
	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "stock", Slow: slow}, Retry: &retry.Config{},
	})
	if err != nil {
		return nil, err
	}
	client, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{
		Throttle: throttle.Config{Name: "payments", Slow: slow}, Retry: &retry.Config{},
		Repeatable: func(context.Context, grpcthrottle.RPC) bool { return true }, // only if a second payment does no harm
	})
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(paymentsTarget, append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return nil, err
	}
	return &backends{
		stock:    &http.Client{Transport: transport, Timeout: 5 * time.Second},
		stockURL: stockURL,
		payments: grpc_health_v1.NewHealthClient(conn),
		closers:  []io.Closer{conn, client, transport},
	}, nil
}

func (b *backends) close() {
	for _, c := range b.closers {
		_ = c.Close()
	}
}

// products asks the stock service what there is.
func (b *backends) products(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.stockURL, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := b.stock.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if err := httpthrottle.StatusError(response); err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// pay asks the payment service, over gRPC.
func (b *backends) pay(ctx context.Context) (string, error) {
	answer, err := b.payments.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return answer.GetStatus().String(), err
}

// startBackends serves both backends in this process.
func startBackends() (stockURL, paymentsTarget string, stop func(), err error) {
	stock, err := serve("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "apples, pears")
	}))
	if err != nil {
		return "", "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		stock.end()
		return "", "", nil, err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // it ends with Stop
	return "http://" + stock.address, listener.Addr().String(), func() { server.Stop(); stock.end() }, nil
}
