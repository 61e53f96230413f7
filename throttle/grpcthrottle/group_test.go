package grpcthrottle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() error
		want []string
	}{
		{"client without a name", func() error { _, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{}); return err }, []string{"grpcthrottle: ClientConfig.Throttle: throttle: Config.Name"}},
		{"client's group", func() error {
			_, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "a"}, Group: throttle.GroupConfig{Max: -1}})
			return err
		}, []string{"grpcthrottle: ClientConfig.Group: throttle: GroupConfig.Max is -1"}},
		{"server without anything right", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				RetryAfter: -1, Pushback: 2 * time.Hour, Group: throttle.GroupConfig{Max: -1},
			})
			return err
		}, []string{"ServerConfig.Throttle: throttle: Config.Name", "GroupConfig.Max", "ServerConfig.RetryAfter is -1ns: want 0s to 1h0m0s", "ServerConfig.Pushback is 2h0m0s: want"}},
		{"server's throttle", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: throttle.Config{Name: "a", Ratio: 0.5}})
			return err
		}, []string{"Config.Ratio is 0.5"}},
		{"server's trust", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Name: "a"}, Trust: throttle.Trust{Ceiling: 16, Default: -1},
			})
			return err
		}, []string{
			"grpcthrottle: ServerConfig.Trust.Ceiling: throttle: priority 16 is out of range: want 0 (high) to 15 (p15)",
			"grpcthrottle: ServerConfig.Trust.Default: throttle: priority -1 is out of range",
		}},
		{"server's lowest trust", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Name: "a"}, Trust: throttle.Trust{Ceiling: 15, Default: 15},
			})
			return err
		}, nil},
		{"server's longest", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: throttle.Config{Name: "a"}, RetryAfter: time.Hour, Pushback: time.Hour})
			return err
		}, nil},
	} {
		err := tt.make()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: got %v want an error: %v", tt.name, err, tt.want != nil)
		}
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v want %q in it", tt.name, err, want)
			}
		}
	}
	created := 0
	newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "a", Hooks: throttle.Hooks{Created: func(*throttle.Throttle) { created++ }}}})
	if created != 0 {
		t.Errorf("got %d throttles created before the first call want 0", created)
	}
}

// A nil or zero Client or Server panics when its interceptors are built, not with the first call.
func TestNotMade(t *testing.T) {
	var noClient *grpcthrottle.Client
	var noServer *grpcthrottle.Server
	for want, builds := range map[string][]func(){
		"grpcthrottle: the Client is nil or zero: want one made with NewClient": {
			func() { noClient.DialOptions() },
			func() { new(grpcthrottle.Client).UnaryInterceptor() },
			func() { new(grpcthrottle.Client).StreamInterceptor() },
		},
		"grpcthrottle: the Server is nil or zero: want one made with NewServer": {
			func() { noServer.ServerOptions() },
			func() { new(grpcthrottle.Server).UnaryInterceptor() },
			func() { new(grpcthrottle.Server).StreamInterceptor() },
		},
	} {
		for i, build := range builds {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); got != want {
						t.Errorf("%d: got the panic %q want %q", i, got, want)
					}
				}()
				build()
			}()
		}
	}
}
