package connectthrottle

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// loadTrailer is the protocol.LoadTrailer in the spelling of http.Header.
const loadTrailer = "Endpoint-Load-Metrics-Bin"

// tell sends what the server sheds, if Tell allows it: with Connect in the header, with gRPC in the trailer.
// Failed means that the call has failed, or may fail later.
func (s *Server) tell(
	ctx context.Context, t *throttle.Throttle, rpc RPC, failed bool, header, trailer func() http.Header,
) {
	if s.config.Tell == nil || !s.config.Tell(ctx, rpc) {
		return
	}
	if rpc.Peer.Protocol == connect.ProtocolConnect {
		if values := s.loads.Header(t, failed); values != nil {
			header()[protocol.LoadHeader] = values
		}
	} else if value := s.loads.Trailer(t, failed); value != "" {
		trailer()[loadTrailer] = []string{connect.EncodeBinaryHeader([]byte(value))}
	}
}

// tellUnary is the same for a unary call that ends with err, whose context has its header and its trailer. It
// removes what another server says, if the handler returns the response of that server. Res is nil after an error.
func (s *Server) tellUnary(ctx context.Context, t *throttle.Throttle, rpc RPC, res connect.AnyResponse, err error) {
	if s.config.Tell == nil {
		return
	}
	if res != nil {
		withoutLoad(res.Header())
		withoutLoad(res.Trailer())
	}
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		s.tell(ctx, t, rpc, err != nil, info.ResponseHeader, info.ResponseTrailer)
	}
}

// tell is the same for a stream, before its first message and at its end. A stream may fail after its header, so
// each has a report.
func (s *serverStream) tell(end bool) {
	if s.server.config.Tell == nil {
		return
	}
	begins, inTrailer := !s.begun.Load(), s.rpc.Peer.Protocol != connect.ProtocolConnect
	if begins {
		withoutLoad(s.ResponseHeader())
	}
	if end {
		withoutLoad(s.ResponseTrailer())
	}
	if inTrailer && end || !inTrailer && begins {
		s.server.tell(s.call.Context(), s.throttle, s.rpc, true, s.ResponseHeader, s.ResponseTrailer)
	}
}

func withoutLoad(h http.Header) {
	delete(h, protocol.LoadHeader)
	delete(h, loadTrailer)
}

// receive gives what a server says in a header or in a trailer to the throttle of the call, if Listen allows
// it.
func (c *Client) receive(ctx context.Context, t *throttle.Throttle, rpc RPC, h http.Header) {
	if c.config.Listen == nil {
		return
	}
	text, binary := h[protocol.LoadHeader], h[loadTrailer]
	if len(text)+len(binary) != 1 || !c.config.Listen(ctx, rpc) {
		return
	}
	protocol.ReceiveLoad(t, text)
	if len(binary) == 1 {
		if message, err := connect.DecodeBinaryHeader(binary[0]); err == nil {
			protocol.ReceiveBinaryLoad(t, []string{string(message)})
		}
	}
}

// receiveError is receive for an error that came from the server: it has the header and the trailer.
func (c *Client) receiveError(ctx context.Context, t *throttle.Throttle, rpc RPC, err error) {
	var coded *connect.Error
	if c.config.Listen != nil && errors.As(err, &coded) && connect.IsWireError(coded) {
		c.receive(ctx, t, rpc, coded.Meta())
	}
}

func (c *Client) receiveUnary(ctx context.Context, t *throttle.Throttle, rpc RPC, res connect.AnyResponse, err error) {
	switch {
	case c.config.Listen == nil:
	case err != nil:
		c.receiveError(ctx, t, rpc, err)
	case res != nil:
		c.receive(ctx, t, rpc, res.Header())
		c.receive(ctx, t, rpc, res.Trailer())
	}
}
