package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// A server whose handler passes on the failure of its backend has capacity. So the throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	unavailable, missing := connect.NewError(connect.CodeUnavailable, errors.New("no room")), connect.NewError(connect.CodeNotFound, errors.New("none"))
	for name, tt := range map[string]struct {
		backend, own error // of the call that the handler makes; of the handler, nil if it is the same
		want         tally
	}{
		"passed on":             {backend: unavailable, want: tally{ignored: 1}},
		"after another failure": {backend: missing, own: unavailable, want: tally{rejected: 1}},
	} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			_, calling := newClient(t, connectthrottle.ClientConfig{})
			back := open(t, handle(func(context.Context, http.Header, func(string) error) error { return tt.backend }), protocol, calling)
			server, serving := newServer(t, connectthrottle.ServerConfig{})
			front := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
				if err := back.call(ctx, procedure); tt.own == nil {
					return err
				}
				return tt.own
			}, serving), protocol)
			_ = front.call(t.Context(), procedure)
			wants(t, name, member(t, server.Group(), procedure), tt.want)
		})
	}
}
