package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestServerSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		server := newServer(t, grpcthrottle.ServerConfig{
			Throttle: throttle.Config{Name: "inner-secret", Rand: always}, Trust: throttle.Trust{Default: throttle.Low},
			RetryAfter: 7 * time.Second,
		})
		p := open(t, &shop{
			buy:    func(context.Context, string) (string, error) { served++; return "", nil },
			stream: func(_ string, ss grpc.ServerStream) error { served++; return echo(ss) },
		}, server.ServerOptions())
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		for _, method := range []string{buy, talk} {
			spoil(t, member(t, server.Group(), method), throttle.Low)
		}
		var trailer metadata.MD
		err := p.buy(t.Context(), grpc.Trailer(&trailer))
		wantUnavailable(t, "unary", err, "throttle: call shed", 7*time.Second)
		wantPushback(t, "unary", trailer, "-1")
		if errors.Is(err, throttle.ErrShed) {
			t.Error("a shed far away: got one of our own")
		}
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		err = s.RecvMsg(new(text))
		wantUnavailable(t, "stream", err, "throttle: call shed", 7*time.Second)
		wantPushback(t, "stream", s.Trailer(), "-1")
		if served != 2 {
			t.Errorf("got %d calls served want 2: what was shed was served", served)
		}
		must(t, p.converse(t.Context(), fill)) // its own throttle
	})
}

func wantPushback(t *testing.T, what string, trailer metadata.MD, want ...string) {
	t.Helper()
	if got := trailer.Get("grpc-retry-pushback-ms"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got pushback %v want %v", what, got, want)
	}
}

// The handlers of a server call a backend through a throttle, which sheds.
func TestServerShedWithin(t *testing.T) {
	shed := throttle.Must(throttle.New(throttle.Config{Name: "backend", Rand: always}))
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "backend", Rand: always}})
	invoke := func() error {
		return client.UnaryInterceptor()(t.Context(), buy, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
	}
	must(t, invoke())
	spoil(t, shed, throttle.Medium)
	spoil(t, member(t, client.Group(), ""), throttle.Medium)
	bare := shed.Do(t.Context(), throttle.Medium, func(context.Context) error { return nil })
	ours := invoke()
	foreign := errors.Join(status.Error(codes.ResourceExhausted, "come back later"), bare)
	for _, tt := range []struct {
		name string
		err  error
	}{{"of a throttle", bare}, {"of a client", ours}, {"wrapped", fmt.Errorf("orders: %w", ours)}, {"with a status", foreign}} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, grpcthrottle.ServerConfig{RetryAfter: 3 * time.Second, Pushback: 1500 * time.Microsecond})
			p := open(t, &shop{
				buy:    func(context.Context, string) (string, error) { return "", tt.err },
				stream: func(string, grpc.ServerStream) error { return tt.err },
			}, server.ServerOptions())
			var trailer metadata.MD
			err := p.buy(t.Context(), grpc.Trailer(&trailer))
			s, streamErr := p.stream(t.Context(), talk)
			must(t, streamErr)
			streamErr = s.RecvMsg(new(text))
			wantPushback(t, tt.name, trailer, "1")
			wantPushback(t, tt.name+", stream", s.Trailer(), "1")
			for _, err := range []error{err, streamErr} {
				if errors.Is(tt.err, foreign) {
					if status.Code(err) != codes.ResourceExhausted {
						t.Errorf("%s: got %v want the handler's own code", tt.name, err)
					}
					continue
				}
				wantUnavailable(t, tt.name, err, "throttle: call shed", 3*time.Second)
			}
			for _, method := range []string{buy, talk} {
				th := member(t, server.Group(), method)
				wants(t, tt.name+", "+method, th, tally{ignored: 1})
				if faultsOf(th, throttle.Ignored, throttle.FaultShed) != 1 {
					t.Errorf("%s: got another fault than a shed", tt.name)
				}
			}
		})
	}
}

// The name and the key of a throttle are internal, such as the address of a backend. No status that a
// server sends contains them, with our interceptors or without.
func TestShedStatus_NamesNoKey(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{
		Throttle: throttle.Config{Name: "secret-name", Rand: always},
		Key:      func(context.Context, grpcthrottle.RPC) string { return "secret-host" },
	})
	invoke := func() error {
		return client.UnaryInterceptor()(t.Context(), buy, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
	}
	must(t, invoke())
	spoil(t, member(t, client.Group(), "secret-host"), throttle.Medium)
	shed := invoke()
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
		"ToStatus, wrapped":       {grpcthrottle.ToStatus(fmt.Errorf("orders: %w", shed)), "orders: throttle: call shed"},
		"ToStatus, joined":        {grpcthrottle.ToStatus(errors.Join(errors.New("late"), shed)), "late\nthrottle: call shed"},
		"ToStatus, of a throttle": {grpcthrottle.ToStatus(own), "throttle: call shed"},
		"ToStatus, of a bucket":   {grpcthrottle.ToStatus(fmt.Errorf("orders: %w", denied{})), "orders: throttle: call shed"},
	} {
		wantUnavailable(t, name, tt.err, tt.want, time.Second)
	}
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{
			Throttle: throttle.Config{Name: "secret-name", Rand: always},
			Key:      func(context.Context, grpcthrottle.RPC) string { return "secret-tenant" },
		})
		p := open(t, &shop{}, server.ServerOptions())
		must(t, p.buy(t.Context()))
		spoil(t, member(t, server.Group(), "secret-tenant"), throttle.Medium)
		wantUnavailable(t, "a server's answer", p.buy(t.Context()), "throttle: call shed", time.Second)
	})
}

// denied is an error like that of a bucket, which has a key too.
type denied struct{}

func (denied) Error() string        { return "bucket: secret-name is empty for secret-tenant" }
func (denied) Is(target error) bool { return target == throttle.ErrShed }

func TestServerPushbackLongerThanNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{Pushback: 1})
		p := open(t, &shop{buy: func(context.Context, string) (string, error) { return "", throttle.ErrShed }}, server.ServerOptions())
		var trailer metadata.MD
		_ = p.buy(t.Context(), grpc.Trailer(&trailer))
		wantPushback(t, "a nanosecond", trailer, "1")
	})
}
