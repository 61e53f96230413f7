package grpcthrottle_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// A gRPC server within net/http: a caller must not make the throttle of the middleware shed with messages that are
// too large.
func TestFromStatus_HTTP(t *testing.T) {
	var mu sync.Mutex
	ended := map[throttle.Fault]int{}
	th, err := throttle.New(throttle.Config{Name: "http", Hooks: throttle.Hooks{Finished: func(_ context.Context, e throttle.FinishEvent) {
		mu.Lock()
		defer mu.Unlock()
		ended[e.Fault]++
	}}})
	must(t, err)
	backend := grpc.NewServer(grpc.MaxRecvMsgSize(100))
	grpc_health_v1.RegisterHealthServer(backend, health.NewServer())
	server := &http.Server{Handler: httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(backend), Protocols: &http.Protocols{}}
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	request := &grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("x", 10_000)}
	for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), request, opts...)
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("got %v want a message that is too large", err)
		}
	}
	must(t, conn.Close())
	must(t, server.Shutdown(t.Context()))
	<-served //nolint:errcheck // it is http.ErrServerClosed
	mu.Lock()
	defer mu.Unlock()
	if ended[throttle.FaultBad] != 2 {
		t.Errorf("got %v want two bad calls: the server has capacity", ended)
	}
}
