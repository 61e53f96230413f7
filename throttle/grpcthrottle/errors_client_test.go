package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestClientContextOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		for want, ctx := range map[codes.Code]context.Context{codes.Canceled: canceled, codes.DeadlineExceeded: late} {
			err := p.buy(ctx)
			_, streamErr := p.stream(ctx, talk)
			for _, err := range []error{err, streamErr} {
				if status.Code(err) != want || !errors.Is(err, ctx.Err()) {
					t.Errorf("got %v want code %v and %v", err, want, ctx.Err())
				}
			}
		}
		wants(t, "no call was made", member(t, client.Group(), target), tally{})
	})
}

func TestClientBadPriority(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
	p := open(t, &shop{}, nil, client.DialOptions()...)
	ctx := throttle.WithPriority(t.Context(), 7)
	_, streamErr := p.stream(ctx, talk)
	for _, err := range []error{p.buy(ctx), streamErr} {
		if status.Code(err) != codes.Internal || !strings.Contains(status.Convert(err).Message(), "want 0 (high) to 3 (low)") {
			t.Errorf("got %v want code Internal, and the range", err)
		}
	}
}

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
			wantShed(t, kind, err, "throttle: call shed")
			var shed *throttle.ShedError
			if !errors.As(err, &shed) || shed.Priority != throttle.Low || shed.Throttle != "orders" || shed.Key != target {
				t.Errorf("%s: got %#v want a ShedError of low priority, for %s", kind, shed, target)
			}
			if got, want := err.Error(), fmt.Sprintf("throttle: orders for %q shed a call of low priority", target); got != want {
				t.Errorf("%s: got the text %q want %q", kind, got, want)
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
