package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
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
		equal(t, "sheds "+name, shedBy(th)-shedBefore, 2)
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

// What a remote caller gets if the server sheds its call, and if the handler returns the shed of a call of its
// own: that of a throttle, and with a status.
func TestServer_sheds(t *testing.T) {
	own := &throttle.ShedError{Throttle: "secret", Key: "secret-host"}
	for name, c := range map[string]struct {
		config   grpcthrottle.ServerConfig
		own      error         // of the handler; nil: the server sheds
		retry    time.Duration // 0: the status is the handler's own
		pushback string
	}{
		"default":             {grpcthrottle.ServerConfig{}, nil, time.Second, "-1"},
		"delays":              {grpcthrottle.ServerConfig{RetryAfter: 7 * time.Second, Pushback: 1500 * time.Microsecond}, nil, 7 * time.Second, "1"},
		"a nanosecond":        {grpcthrottle.ServerConfig{Pushback: 1}, nil, time.Second, "1"},
		"within":              {grpcthrottle.ServerConfig{RetryAfter: time.Minute}, fmt.Errorf("orders: %w", own), time.Minute, "-1"},
		"within, of a client": {grpcthrottle.ServerConfig{}, grpcthrottle.ToStatus(own), time.Second, "-1"},
		"within, a status":    {grpcthrottle.ServerConfig{}, errors.Join(status.Error(codes.ResourceExhausted, "later"), own), 0, "-1"},
	} {
		c.config.Throttle = throttle.Config{Name: "inner-secret", Rand: always}
		p, wantBooks := setup{server: c.config, shop: failing(c.own)}.open(t), "1 ignored/shed"
		for _, method := range []string{buy, talk} {
			th := throttle.Must(p.server.Group().Get(method))
			if c.own == nil {
				spoil(t, th, throttle.Medium)
				wantBooks = books(th)
			}
			trailer, err := p.trailerOf(t, method)
			if c.retry > 0 {
				wantShed(t, name+method, err, c.retry)
			} else {
				equal(t, name+", "+method+": the code of the handler", status.Code(err), codes.ResourceExhausted)
			}
			equal(t, name+", "+method+": pushback", fmt.Sprint(trailer["grpc-retry-pushback-ms"]), "["+c.pushback+"]")
			wants(t, name+method, th, wantBooks)
		}
	}
}

// trailerOf makes a call, and returns its trailer and its error.
func (p *place) trailerOf(t *testing.T, method string) (trailer metadata.MD, err error) {
	if method == buy {
		err = p.buy(t.Context(), grpc.Trailer(&trailer))
		return trailer, err
	}
	s, err := p.stream(t.Context(), method)
	must(t, err)
	err = finish(s, method)
	return s.Trailer(), err
}
