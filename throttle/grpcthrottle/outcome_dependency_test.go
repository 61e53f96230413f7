package grpcthrottle_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// A server whose handler passes on the failure of its backend has capacity. So the throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "no room")
	full := throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return status.Code(err) == codes.Internal })}
	for name, tt := range map[string]struct {
		config  throttle.Config
		shed    bool
		backend error // of the call that the handler makes
		want    tally
	}{
		"rejected":             {backend: unavailable, want: tally{ignored: 1}},
		"rejected by Classify": {config: full, backend: status.Error(codes.Internal, "full"), want: tally{ignored: 1}},
		"shed":                 {config: throttle.Config{Rand: always}, shed: true, want: tally{ignored: 1}},
		"another failure":      {backend: status.Error(codes.NotFound, "none"), want: tally{rejected: 1}},
	} {
		client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: tt.config}), newServer(t, grpcthrottle.ServerConfig{})
		if tt.shed {
			spoil(t, throttle.Must(client.Group().Get("")), throttle.Medium)
		}
		for method, call := range clientCalls(client) {
			err := serverCalls(server)[method](t.Context(), func(ctx context.Context) error {
				_ = call(ctx, func(context.Context) error { return tt.backend })
				return unavailable
			})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("%s, %s: got %v want the answer of the handler", name, method, err)
			}
			wants(t, name+", "+method, throttle.Must(server.Group().Get(method)), tt.want)
		}
	}
}
