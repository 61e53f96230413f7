package grpcthrottle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// The error of a call is that of gRPC. A call that is not made has a code that says why.
func TestClient_errors(t *testing.T) {
	theirs := status.Error(codes.Unavailable, "theirs")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
	for method, call := range clientCalls(client) {
		if err := call(t.Context(), func(context.Context) error { return theirs }); err != theirs { //nolint:errorlint // the very error is wanted
			t.Errorf("%s: got %v want the very error", method, err)
		}
		for want, ctx := range map[codes.Code]context.Context{
			codes.Canceled: canceled, codes.DeadlineExceeded: late, codes.Internal: throttle.WithPriority(t.Context(), 7),
		} {
			err := call(ctx, func(context.Context) error { t.Error("got a call sent"); return nil })
			if status.Code(err) != want || ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
				t.Errorf("%s: got %v want code %v and %v", method, err, want, ctx.Err())
			}
			if want == codes.Internal && !strings.Contains(status.Convert(err).Message(), "want 0 (high) to 3 (low)") {
				t.Errorf("%s: got %v want the range of priorities", method, err)
			}
		}
	}
	wants(t, "the calls that were made", member(t, client.Group(), ""), "2 rejected/availability")
}

func TestClient_sheds(t *testing.T) {
	for name, retries := range map[string]*retry.Config{"": nil, "retried": often()} {
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "orders", Rand: always}, Retry: retries})
		th := throttle.Must(client.Group().Get(""))
		spoil(t, th, throttle.Low)
		counted, shedBefore := books(th), shedBy(th)
		for method, call := range clientCalls(client) {
			err := call(throttle.WithPriority(t.Context(), throttle.Low), func(context.Context) error { t.Error("got a call sent"); return nil })
			wantShed(t, method+name, err, time.Second)
			var shed *throttle.ShedError
			if !errors.Is(err, throttle.ErrShed) || !errors.As(err, &shed) || shed.Priority != throttle.Low || err.Error() != shed.Error() {
				t.Errorf("%s %s: got %v want a ShedError of low priority", method, name, err)
			}
			if e, ok := err.(interface{ Temporary() bool }); !ok || e.Temporary() {
				t.Errorf("%s %s: got an error that may be temporary", method, name)
			}
		}
		wants(t, "after two sheds "+name, th, counted)
		if got := shedBy(th) - shedBefore; got != 2 {
			t.Errorf("%s: got %d sheds want 2", name, got)
		}
		if retries != nil && retrierOf(t, client).Stats().Calls[0] != 1 {
			t.Errorf("got %+v want a shed call that is not retried", retrierOf(t, client).Stats())
		}
	}
}

func TestClient_ShedErr(t *testing.T) {
	for want, own := range map[codes.Code]error{
		codes.Unavailable: errors.New("busy"), codes.ResourceExhausted: status.Error(codes.ResourceExhausted, "come back later"),
	} {
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{ShedErr: own, Rand: always}})
		spoil(t, throttle.Must(client.Group().Get("")), throttle.Medium)
		for _, call := range clientCalls(client) {
			err := call(t.Context(), func(context.Context) error { return nil })
			if !errors.Is(err, throttle.ErrShed) || !errors.Is(err, own) || status.Code(err) != want {
				t.Errorf("got %v of code %v want a shed that is %v, of code %v", err, status.Code(err), own, want)
			}
		}
	}
}
