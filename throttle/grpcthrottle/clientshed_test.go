package grpcthrottle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestClientSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "orders", Rand: always}})
		p := open(t, &shop{
			buy:    func(context.Context, string) (string, error) { served++; return "", nil },
			stream: func(string, grpc.ServerStream) error { served++; return nil },
		}, nil, client.DialOptions()...)
		must(t, p.buy(t.Context()))
		th := member(t, client.Group(), target)
		spoil(t, th, throttle.Low)
		before, low := tallyOf(th), throttle.WithPriority(t.Context(), throttle.Low)
		unary := p.buy(low)
		_, stream := p.stream(low, talk)
		for kind, err := range map[string]error{"unary": unary, "stream": stream} {
			wantShed(t, kind, err, "throttle: orders shed a call of low priority")
			var shed *throttle.ShedError
			if !errors.As(err, &shed) || shed.Priority != throttle.Low {
				t.Errorf("%s: got %#v want a ShedError of low priority", kind, shed)
			}
			if e, ok := err.(interface{ Temporary() bool }); !ok || e.Temporary() {
				t.Errorf("%s: got an error that may be temporary", kind)
			}
		}
		if served != 1 {
			t.Errorf("got %d calls served want 1: what was shed was sent", served)
		}
		before.shed += 2
		wants(t, "after two sheds", th, before)
	})
}

// wantShed checks the error of a shed call as its caller has it.
func wantShed(t *testing.T, what string, err error, message string) {
	t.Helper()
	if !errors.Is(err, throttle.ErrShed) {
		t.Errorf("%s: got %v want a shed", what, err)
	}
	wantUnavailable(t, what, err, message, time.Second)
}

// wantUnavailable checks what the status of a shed call says.
func wantUnavailable(t *testing.T, what string, err error, message string, delay time.Duration) {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable || s.Message() != message {
		t.Errorf("%s: got status %v want Unavailable: %s", what, s, message)
	}
	if len(s.Details()) != 1 {
		t.Fatalf("%s: got details %v want one", what, s.Details())
	}
	info, ok := s.Details()[0].(*errdetails.RetryInfo)
	if !ok || info.GetRetryDelay().AsDuration() != delay {
		t.Errorf("%s: got detail %v want a RetryInfo of %v", what, info, delay)
	}
}

func TestClientShedErr(t *testing.T) {
	plain, own := errors.New("busy"), status.Error(codes.ResourceExhausted, "come back later")
	for _, tt := range []struct {
		err  error
		want codes.Code
	}{{plain, codes.Unavailable}, {own, codes.ResourceExhausted}} {
		synctest.Test(t, func(t *testing.T) {
			client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{ShedErr: tt.err, Rand: always}})
			p := open(t, &shop{}, nil, client.DialOptions()...)
			must(t, p.buy(t.Context()))
			spoil(t, member(t, client.Group(), target), throttle.Medium)
			err := p.buy(t.Context())
			if !errors.Is(err, throttle.ErrShed) || !errors.Is(err, tt.err) || status.Code(err) != tt.want {
				t.Errorf("got %v of code %v want a shed that is %v, of code %v", err, status.Code(err), tt.err, tt.want)
			}
		})
	}
}
