package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// oneIn is how many requests there are for each that the backend rejects.
const oneIn = 20

// journal is a file with a line per request. It is complete up to the moment in which its process is
// killed: each line is one system call.
type journal struct {
	file     *os.File
	requests atomic.Uint64
}

// arrived writes the line of a request, and reports whether it is to be rejected.
func (j *journal) arrived(kind string) bool {
	if _, err := fmt.Fprintln(j.file, kind); err != nil {
		panic(err)
	}
	return kind == "request" && j.requests.Add(1)%oneIn == 0
}

// runKillable serves until it is interrupted or killed.
func runKillable(args []string) error {
	protocol, address, path := args[0], args[1], args[2]
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	j := &journal{file: file}
	hooks := retry.Hooks{Arrived: func(context.Context, retry.ArrivalEvent) { j.arrived("retry") }}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	program.ExitWhenInterrupted()
	if protocol == "grpc" {
		return serveGRPC(listener, j, hooks)
	}
	return serveHTTP(listener, j, hooks)
}

func serveHTTP(listener net.Listener, j *journal, hooks retry.Hooks) error {
	th := throttle.Must(throttle.New(throttle.Config{Name: "backend", Mode: throttle.ModeOff}))
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{RetryHooks: hooks})
	handler := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if j.arrived("request") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
	journal *journal
}

func (s healthServer) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if s.journal.arrived("request") {
		return nil, status.Error(codes.Unavailable, "busy")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func serveGRPC(listener net.Listener, j *journal, hooks retry.Hooks) error {
	throttles, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Name: "backend", Mode: throttle.ModeOff}, RetryHooks: hooks,
		Exempt: func(context.Context, grpcthrottle.RPC) bool { return false }, // health checks are the calls here
	})
	if err != nil {
		return err
	}
	server := grpc.NewServer(throttles.ServerOptions()...)
	grpc_health_v1.RegisterHealthServer(server, healthServer{journal: j})
	return server.Serve(listener)
}

// backend is the process of a backend, which can be killed and started again on its address.
type backend struct {
	protocol, address, journal string
	process                    *program.Process
}

// newBackend starts a backend.
func newBackend(t *testing.T, protocol string) *backend {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{protocol: protocol, address: listener.Addr().String(), journal: t.TempDir() + "/journal"}
	_ = listener.Close()
	b.start(t)
	return b
}

// start starts the process and waits until it listens.
func (b *backend) start(t *testing.T) {
	t.Helper()
	b.process = program.Start(t, os.Args[0], asKillable, b.protocol, b.address, b.journal)
	program.Eventually(t, "the backend listens", func() string {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			return err.Error()
		}
		_ = conn.Close()
		return ""
	})
}

// arrivals returns how many requests arrived, and how many of these were marked as retries.
func (b *backend) arrivals(t *testing.T) (requests, retries uint64) {
	t.Helper()
	text, err := os.ReadFile(b.journal)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return uint64(bytes.Count(text, []byte("request\n"))), uint64(bytes.Count(text, []byte("retry\n")))
}
