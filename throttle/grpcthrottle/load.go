package grpcthrottle

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// loadTrailers are the load reports of a server as metadata. It keeps the last one: most are equal.
type loadTrailers struct {
	protocol.Loads
	last atomic.Pointer[metadata.MD]
}

func (l *loadTrailers) of(t *throttle.Throttle, failed bool) metadata.MD {
	value := l.Trailer(t, failed)
	if value == "" {
		return nil
	}
	if last := l.last.Load(); last != nil && (*last)[protocol.LoadTrailer][0] == value {
		return *last
	}
	md := metadata.MD{protocol.LoadTrailer: {value}}
	l.last.Store(&md)
	return md
}

// tell says in the trailer of a call that ends with err what the server sheds, if Tell allows it.
func (s *Server) tell(ctx context.Context, t *throttle.Throttle, rpc RPC, err error, setTrailer func(metadata.MD)) {
	if s.config.Tell == nil || !s.config.Tell(ctx, rpc) {
		return
	}
	if md := s.loads.of(t, err != nil); md != nil {
		setTrailer(md) // copies it
	}
}

// receive gives what a server says in the trailer of a call to the throttle of the call, if Listen allows it.
func (c *Client) receive(ctx context.Context, t *throttle.Throttle, rpc RPC, trailer metadata.MD) {
	if c.config.Listen == nil {
		return
	}
	if values := trailer[protocol.LoadTrailer]; len(values) > 0 && c.config.Listen(ctx, rpc) {
		protocol.ReceiveBinaryLoad(t, values)
	}
}
