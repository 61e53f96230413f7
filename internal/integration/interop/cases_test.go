package interop

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// TestMain sets the logger before gRPC is used.
func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(failing{grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)})
	os.Exit(m.Run())
}

// failing is a logger that panics instead of ending the process. The cases of grpc-go report a
// failure with Fatal.
type failing struct{ grpclog.LoggerV2 }

func (failing) Fatal(args ...any)              { panic(fmt.Sprint(args...)) }
func (failing) Fatalln(args ...any)            { panic(fmt.Sprint(args...)) }
func (failing) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// interopCase is one case of grpc-go, and how its calls may be counted.
type interopCase struct {
	run    func(ctx context.Context, t *testing.T, p *pair)
	client []tally
	server []tally
}

func simple(calls uint64, run func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)) interopCase {
	return accepted(calls, func(ctx context.Context, _ *testing.T, p *pair) { run(ctx, p.tests()) })
}

func accepted(calls uint64, run func(context.Context, *testing.T, *pair)) interopCase {
	want := []tally{{accepted: calls}}
	return interopCase{run: run, client: want, server: want}
}

func cases() map[string]interopCase {
	canceled := simple(0, interop.DoCancelAfterBegin)
	canceled.client = []tally{{ignored: 1}}
	// Nothing was sent, if the cancellation was fast. If it was slow, the client's end of the stream came first.
	canceled.server = []tally{{ignored: 1}, {}, {accepted: 1}}
	late := simple(0, interop.DoTimeoutOnSleepingServer)
	late.client = []tally{{rejected: 1}, {}} // the deadline may pass before anything
	late.server = []tally{{rejected: 1}, {}, {ignored: 1}}
	unimplemented := func(ctx context.Context, _ *testing.T, p *pair) {
		interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(p.conn))
	}
	method := func(ctx context.Context, _ *testing.T, p *pair) { interop.DoUnimplementedMethod(ctx, p.conn) }
	return map[string]interopCase{
		"empty_unary":                 simple(1, interop.DoEmptyUnaryCall),
		"large_unary":                 simple(1, interop.DoLargeUnaryCall),
		"client_streaming":            simple(1, interop.DoClientStreaming),
		"server_streaming":            simple(1, interop.DoServerStreaming),
		"ping_pong":                   simple(1, interop.DoPingPong),
		"empty_stream":                simple(1, interop.DoEmptyStream),
		"custom_metadata":             simple(2, interop.DoCustomMetadata),
		"status_code_and_message":     simple(2, interop.DoStatusCodeAndMessage),
		"special_status_message":      simple(1, interop.DoSpecialStatusMessage),
		"cancel_after_first_response": simple(1, interop.DoCancelAfterFirstResponse),
		"cancel_after_begin":          canceled,
		"timeout_on_sleeping_server":  late,
		"unimplemented_service":       {run: unimplemented, client: []tally{{accepted: 1}}, server: []tally{{}}}, // gRPC answers itself
		"unimplemented_method":        accepted(1, method),
		"orca_per_rpc": accepted(1, func(ctx context.Context, _ *testing.T, p *pair) {
			interop.DoORCAPerRPCTest(ctx, p.tests())
		}),
	}
}

// TestInterop runs every case with a throttle in the client, in the server, and in both.
func TestInterop(t *testing.T) {
	for name, c := range cases() {
		for side, throttled := range pairings {
			t.Run(name+", "+side, func(t *testing.T) {
				p := throttled.open(t, interop.NewTestServer(interop.NewTestServerOptions{MetricsRecorder: orca.NewServerMetricsRecorder()}))
				c.check(t, p)
				if p.client != nil {
					counts(t, "client", p.client.Group(), c.client)
				}
				if p.server != nil {
					counts(t, "server", p.server.Group(), c.server)
				}
			})
		}
	}
}

func (c interopCase) check(t *testing.T, p *pair) {
	defer func() {
		if failure := recover(); failure != nil {
			t.Fatal(failure)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), program.Timeout)
	defer cancel()
	c.run(ctx, t, p)
}

func counts(t *testing.T, side string, g *throttle.Group, want []tally) {
	t.Helper()
	program.Eventually(t, "the calls of the "+side, func() string {
		got := tallyOf(g)
		if !slices.Contains(want, got) {
			return fmt.Sprintf("got %+v want one of %+v", got, want)
		}
		return ""
	})
}
