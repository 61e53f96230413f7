package interop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// timeout is that of the callers, patience how long they wait that have no deadline.
const (
	callers  = 40
	timeout  = 500 * time.Millisecond
	patience = 1200 * time.Millisecond // more than the default of CanceledAfter
)

// slow is a service that is too slow for all callers.
type slow struct {
	testgrpc.UnimplementedTestServiceServer

	ignores bool // the context
}

func (s slow) wait(ctx context.Context) error {
	if s.ignores {
		time.Sleep(2 * timeout)
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// UnaryCall waits.
func (s slow) UnaryCall(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	return &testgrpc.SimpleResponse{}, s.wait(ctx)
}

// StreamingOutputCall waits, and sends nothing.
func (s slow) StreamingOutputCall(_ *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer) error {
	return s.wait(ss.Context())
}

// calls are the ways to call the service.
var calls = map[string]func(context.Context, testgrpc.TestServiceClient) error{
	"unary": func(ctx context.Context, c testgrpc.TestServiceClient) error {
		_, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{})
		return err
	},
	"stream": func(ctx context.Context, c testgrpc.TestServiceClient) error {
		s, err := c.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	},
}

// TestDeadline has callers whose deadline passes. The client of a caller ends the call at that time,
// and its cancellation often arrives before the server's deadline. The server must still see that it
// was too slow. A busy machine may delay it more than the throttle allows for, so there are several
// rounds, and one must see half of the deadlines.
func TestDeadline(t *testing.T) {
	const rounds = 10
	for kind, call := range calls {
		for _, ignores := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ignores %v", kind, ignores), func(t *testing.T) {
				seen := 0
				for round := 0; round < rounds && seen < callers/2; round++ {
					p := pairings["both"].open(t, slow{ignores: ignores})
					atOnce(t, p, codes.DeadlineExceeded, call, func(ctx context.Context) (context.Context, context.CancelFunc) {
						return context.WithTimeout(ctx, timeout)
					})
					counted(t, "server", p.server.Group(), throttle.FaultTimeout, 0)
					counted(t, "client", p.client.Group(), throttle.FaultTimeout, callers)
					seen = rejected(p.server.Group(), throttle.FaultTimeout)
				}
				if seen < callers/2 {
					t.Errorf("the server saw %d of %d deadlines in the last of %d rounds", seen, callers, rounds)
				}
			})
		}
	}
}

// TestCanceledLate has callers without a deadline that give up.
func TestCanceledLate(t *testing.T) {
	for kind, call := range calls {
		t.Run(kind, func(t *testing.T) {
			p := pairings["both"].open(t, slow{})
			atOnce(t, p, codes.Canceled, call, func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(patience, cancel)
				return ctx, cancel
			})
			counted(t, "server", p.server.Group(), throttle.FaultCanceled, callers/2)
			counted(t, "client", p.client.Group(), throttle.FaultCanceled, callers)
		})
	}
}

// atOnce makes the calls of all callers, and checks their code.
func atOnce(
	t *testing.T, p *pair, want codes.Code, call func(context.Context, testgrpc.TestServiceClient) error,
	limit func(context.Context) (context.Context, context.CancelFunc),
) {
	t.Helper()
	p.conn.Connect()
	for state := p.conn.GetState(); state != connectivity.Ready; state = p.conn.GetState() {
		if !p.conn.WaitForStateChange(t.Context(), state) {
			t.Fatal("no connection")
		}
	}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			ctx, cancel := limit(t.Context())
			defer cancel()
			if err := call(ctx, p.tests()); status.Code(err) != want {
				t.Errorf("got %v want %v", err, want)
			}
		})
	}
	all.Wait()
}

// counted waits until no call is in flight, and at least a number of calls were rejected with a fault. A call of a
// client on an overloaded machine may end before it reaches the server.
func counted(t *testing.T, side string, g *throttle.Group, f throttle.Fault, atLeast int) {
	t.Helper()
	program.Eventually(t, "the calls of the "+side, func() string {
		if n := tallyOf(g); n.inFlight != 0 || rejected(g, f) < atLeast {
			return fmt.Sprintf("got %+v, %d rejected with %v want %d or more", n, rejected(g, f), f, atLeast)
		}
		return ""
	})
}

// rejected returns how many calls were rejected with a fault.
func rejected(g *throttle.Group, f throttle.Fault) (n int) {
	for _, th := range g.All() {
		for _, p := range th.Stats().Priorities {
			n += int(p.Ended.Count(throttle.Rejected, f))
		}
	}
	return n
}
