package grpcthrottle_test

import (
	"strings"
	"testing"
	"time"

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
	var noServer *grpcthrottle.Server
	for i, build := range []func(){
		func() { noClient.DialOptions() },
		func() { new(grpcthrottle.Client).UnaryInterceptor() },
		func() { new(grpcthrottle.Client).StreamInterceptor() },
		func() { noServer.ServerOptions() },
		func() { new(grpcthrottle.Server).UnaryInterceptor() },
		func() { new(grpcthrottle.Server).StreamInterceptor() },
	} {
		of := [...]string{"Client", "Server"}[i/3]
		want := "grpcthrottle: the " + of + " is nil or zero: want one made with New" + of
		if got := recovered(build); got != want {
			t.Errorf("%d: got the panic %q want %q", i, got, want)
		}
	}
}
