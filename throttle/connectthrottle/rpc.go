package connectthrottle

import (
	"context"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// RPC describes a call to the functions of a config.
type RPC struct {
	_ struct{} // keyed literals only

	// Spec describes the procedure. Its Procedure is the full name: "/pkg.Service/Method".
	Spec connect.Spec
	// Peer describes the other side. On a client, Peer.Addr is the host of the server.
	Peer connect.Peer
}

type throttles struct {
	*protocol.Throttles

	key     func(context.Context, RPC) string
	ownCode bool // Config.ShedErr has a code
}

func newThrottles(
	owner string, c throttle.Config, g throttle.GroupConfig, key func(context.Context, RPC) string,
) (throttles, error) {
	c.Classify = throttle.First(throttle.IgnoreIf(isIdle), protocol.OfAnswers(c.Classify))
	t, err := protocol.NewThrottles(owner, c, g, nil)
	_, ownCode := codedOf(c.ShedErr)
	return throttles{Throttles: t, key: key, ownCode: ownCode}, err
}

func (t throttles) of(ctx context.Context, rpc RPC) *throttle.Throttle { return t.Of(t.key(ctx, rpc)) }
