package grpcthrottle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestConfigErrors(t *testing.T) {
	_, client := grpcthrottle.NewClient(grpcthrottle.ClientConfig{Retry: &retry.Config{Attempts: 99}})
	_, server := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		RetryAfter: -1, Pushback: 2 * time.Hour, Group: throttle.GroupConfig{Max: -1}, Trust: throttle.Trust{Ceiling: 16, Default: -1},
	})
	for want, err := range map[string]error{
		"grpcthrottle: ClientConfig.Throttle: throttle: Config.Name":             client,
		"grpcthrottle: ClientConfig.Retry: retry: Config.Attempts is 99":         client,
		"grpcthrottle: ServerConfig.Throttle: throttle: Config.Name":             server,
		"grpcthrottle: ServerConfig.Group: throttle: GroupConfig.Max is -1":      server,
		"grpcthrottle: ServerConfig.RetryAfter is -1ns: want 0s to 1h0m0s":       server,
		"grpcthrottle: ServerConfig.Pushback is 2h0m0s: want 0s to 1h0m0s":       server,
		"grpcthrottle: ServerConfig.Trust.Ceiling: throttle: priority 16 is out": server,
		"grpcthrottle: ServerConfig.Trust.Default: throttle: priority -1 is out": server,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want %q in it", err, want)
		}
	}
	newServer(t, grpcthrottle.ServerConfig{RetryAfter: time.Hour, Pushback: time.Hour, Trust: throttle.Trust{Ceiling: 15, Default: 15}})
}

// A nil or zero Client or Server panics when its interceptors are built, not with the first call.
func TestNotMade(t *testing.T) {
	var noClient *grpcthrottle.Client
	for want, builds := range map[string][]func(){
		"grpcthrottle: the Client is nil or zero: want one made with NewClient": {
			func() { noClient.DialOptions() }, func() { new(grpcthrottle.Client).StreamInterceptor() },
		},
		"grpcthrottle: the Server is nil or zero: want one made with NewServer": {
			func() { new(grpcthrottle.Server).UnaryInterceptor() }, func() { new(grpcthrottle.Server).StreamInterceptor() },
		},
	} {
		for _, build := range builds {
			equal(t, "panic", recovered(build), any(want))
		}
	}
	var noServer *grpcthrottle.Server
	for _, c := range []interface {
		Close() error
		Group() *throttle.Group
	}{noClient, new(grpcthrottle.Client), noServer, new(grpcthrottle.Server)} {
		if err := c.Close(); err != nil || c.Group().Len() != 0 {
			t.Errorf("got error %v want nothing to close", err)
		}
	}
	if noClient.Retriers() != nil || new(grpcthrottle.Client).Retriers() != nil {
		t.Error("got retriers want none")
	}
}

// By default the calls of the health service are served whatever the throttle decides.
func TestHealthCheck(t *testing.T) {
	server := newServer(t, grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Rand: always}, Key: func(context.Context, grpcthrottle.RPC) string { return "" },
	})
	spoil(t, throttle.Must(server.Group().Get("")), throttle.Medium)
	unary := server.UnaryInterceptor()
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		_, err := unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, nil })
		if errors.Is(err, throttle.ErrShed) == want || grpcthrottle.HealthCheck(t.Context(), grpcthrottle.RPC{Method: method}) != want {
			t.Errorf("%s: got error %v want a health check %v", method, err, want)
		}
	}
}
