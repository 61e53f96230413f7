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

func wantPushback(t *testing.T, what string, trailer metadata.MD, want string) {
	t.Helper()
	if got := trailer.Get("grpc-retry-pushback-ms"); fmt.Sprint(got) != "["+want+"]" {
		t.Errorf("%s: got pushback %v want %v", what, got, want)
	}
}

// What a remote caller gets if the server sheds its call, and if the handler returns the shed of a call of its
// own: that of a throttle, and with a status.
func TestServer_sheds(t *testing.T) {
	own := &throttle.ShedError{Throttle: "secret"}
	for name, c := range map[string]struct {
		config    grpcthrottle.ServerConfig
		own       error // of the handler; nil: the server sheds
		retry     time.Duration
		pushback  string
		ownStatus bool
	}{
		"default":             {grpcthrottle.ServerConfig{}, nil, time.Second, "-1", false},
		"delays":              {grpcthrottle.ServerConfig{RetryAfter: 7 * time.Second, Pushback: 1500 * time.Microsecond}, nil, 7 * time.Second, "1", false},
		"a nanosecond":        {grpcthrottle.ServerConfig{Pushback: 1}, nil, time.Second, "1", false},
		"within":              {grpcthrottle.ServerConfig{RetryAfter: time.Minute}, fmt.Errorf("orders: %w", own), time.Minute, "-1", false},
		"within, of a client": {grpcthrottle.ServerConfig{}, shedOf(t), time.Second, "-1", false},
		"within, a status":    {grpcthrottle.ServerConfig{}, errors.Join(status.Error(codes.ResourceExhausted, "later"), own), 0, "-1", true},
	} {
		c.config.Throttle = throttle.Config{Name: "inner-secret", Rand: always}
		server, served := newServer(t, c.config), 0
		p := open(t, &shop{
			buy:    func(context.Context, string) (string, error) { served++; return "", c.own },
			stream: func(string, grpc.ServerStream) error { served++; return c.own },
		}, server.ServerOptions())
		for _, method := range []string{buy, talk} {
			if th := throttle.Must(server.Group().Get(method)); c.own == nil {
				spoil(t, th, throttle.Medium)
			}
		}
		var trailer metadata.MD
		unary := p.buy(t.Context(), grpc.Trailer(&trailer))
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		stream := s.RecvMsg(new(text))
		for method, err := range map[string]error{buy: unary, talk: stream} {
			if c.ownStatus {
				if status.Code(err) != codes.ResourceExhausted {
					t.Errorf("%s, %s: got %v want the code of the handler", name, method, err)
				}
			} else {
				wantUnavailable(t, name+method, err, "throttle: call shed", c.retry)
			}
			if th := throttle.Must(server.Group().Get(method)); c.own != nil && endedOf(th) != "1 ignored/shed" {
				t.Errorf("%s, %s: got %+v want one shed, ignored", name, method, endedOf(th))
			}
		}
		wantPushback(t, name, trailer, c.pushback)
		wantPushback(t, name+", stream", s.Trailer(), c.pushback)
		if c.own == nil && served > 0 {
			t.Errorf("%s: got %d calls served want none", name, served)
		}
	}
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
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a client's error":        {shed, "throttle: call shed"},
		"ToStatus":                {grpcthrottle.ToStatus(shed), "throttle: call shed"},
		"ToStatus, wrapped":       {grpcthrottle.ToStatus(fmt.Errorf("orders: %w", shed)), "throttle: call shed"},
		"ToStatus, of a throttle": {grpcthrottle.ToStatus(own), "throttle: call shed"},
		"ToStatus, of a bucket":   {grpcthrottle.ToStatus(fmt.Errorf("orders: %w", denied{})), "throttle: call shed"},
	} {
		wantUnavailable(t, name, tt.err, tt.want, time.Second)
	}
}

type denied struct{}

func (denied) Error() string        { return "bucket: secret-name is empty for secret-tenant" }
func (denied) Is(target error) bool { return target == throttle.ErrShed }
