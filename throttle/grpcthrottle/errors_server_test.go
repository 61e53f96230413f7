package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// What a remote caller gets if the server sheds its call, and if the handler returns the shed of a call of its
// own: that of a throttle, and with a status.
func TestServer_sheds(t *testing.T) {
	own := &throttle.ShedError{Throttle: "secret"}
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
		"within, of a client": {grpcthrottle.ServerConfig{}, shedOf(t), time.Second, "-1"},
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
			} else if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s, %s: got %v want the code of the handler", name, method, err)
			}
			if got := fmt.Sprint(trailer["grpc-retry-pushback-ms"]); got != "["+c.pushback+"]" {
				t.Errorf("%s, %s: got pushback %s want %s", name, method, got, c.pushback)
			}
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

func shedOf(t *testing.T) error {
	client := newClient(t, grpcthrottle.ClientConfig{
		Throttle: throttle.Config{Name: "secret-name", Rand: always},
		Key:      func(context.Context, grpcthrottle.RPC) string { return "secret-host" },
	})
	spoil(t, throttle.Must(client.Group().Get("secret-host")), throttle.Medium)
	return clientCalls(client)[buy](t.Context(), func(context.Context) error { return nil })
}

// The name and the key of a throttle are internal, such as the address of a backend. No status contains them.
func TestShedStatus_NamesNoKey(t *testing.T) {
	shed := shedOf(t)
	var own *throttle.ShedError
	if !errors.As(shed, &own) || own.Key != "secret-host" {
		t.Fatalf("got %v want a ShedError with the key", shed)
	}
	for name, err := range map[string]error{
		"a client's error":        shed,
		"ToStatus":                grpcthrottle.ToStatus(shed),
		"ToStatus, wrapped":       grpcthrottle.ToStatus(fmt.Errorf("orders: %w", shed)),
		"ToStatus, of a throttle": grpcthrottle.ToStatus(own),
		"ToStatus, of a bucket":   grpcthrottle.ToStatus(fmt.Errorf("orders of secret-tenant: %w", throttle.ErrShed)),
	} {
		wantShed(t, name, err, time.Second)
	}
}
