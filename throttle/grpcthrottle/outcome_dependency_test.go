package grpcthrottle_test

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
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
		backend error // of the call that the handler makes
		own     error // of the handler; nil: that of its call
		want    tally
	}{
		"passed on":             {backend: unavailable, want: tally{ignored: 1}},
		"rejected by Classify":  {config: full, backend: status.Error(codes.Internal, "full"), own: unavailable, want: tally{ignored: 1}},
		"after another failure": {backend: status.Error(codes.NotFound, "none"), own: unavailable, want: tally{rejected: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			back := open(t, &shop{
				buy:    func(context.Context, string) (string, error) { return "", tt.backend },
				stream: func(string, grpc.ServerStream) error { return tt.backend },
			}, nil, newClient(t, grpcthrottle.ClientConfig{Throttle: tt.config}).DialOptions()...)
			server := newServer(t, grpcthrottle.ServerConfig{})
			answer := func(err error) error {
				if tt.own != nil {
					return tt.own
				}
				return err
			}
			front := open(t, &shop{
				buy:    func(ctx context.Context, _ string) (string, error) { return "", answer(back.buy(ctx)) },
				stream: func(method string, ss grpc.ServerStream) error { return answer(back.converse(ss.Context(), method)) },
			}, server.ServerOptions())
			_ = front.buy(t.Context())
			_ = front.converse(t.Context(), browse)
			synctest.Wait()
			wants(t, name, member(t, server.Group(), buy), tt.want)
			wants(t, name+", stream", member(t, server.Group(), browse), tt.want)
		})
	}
}
