package grpcthrottle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// RPC describes a call to the functions of a config. Unknown fields are empty.
type RPC struct {
	_ struct{} // keyed literals only

	// Method is the full name of the method: "/pkg.Service/Method".
	Method string
	// Target is the target of the [grpc.ClientConn], such as "dns:///orders:443". It is empty on a
	// server.
	Target string
	// Stream reports whether the call came as a stream: either side may send more than one message.
	Stream bool
}

// outgoingRPC describes a call of a client. Only tests have a nil connection, which has no target.
func outgoingRPC(cc *grpc.ClientConn, method string, stream bool) RPC {
	rpc := RPC{Method: method, Stream: stream}
	if cc != nil {
		rpc.Target = cc.Target()
	}
	return rpc
}

// defaultCanceledAfter is the default of Config.CanceledAfter. Below a second, callers mostly cancel
// for reasons of their own: another replica answered first, or the user typed on.
const defaultCanceledAfter = time.Second

// throttles are the throttles of a client or a server, one per key.
type throttles struct {
	name      string
	group     *throttle.Group
	key       func(context.Context, RPC) string
	ownStatus bool // Config.ShedErr has a gRPC status

	unthrottled *sync.Once // logged that calls pass no throttle
}

// newThrottles returns the throttles for the fields of a config, or an error that names every field
// which is out of range. Owner is the name of the config. Retriers is nil without retries.
func newThrottles(
	owner string, c throttle.Config, g throttle.GroupConfig, key func(context.Context, RPC) string, retriers *retry.Group,
) (throttles, error) {
	err := c.Validate() // now, not with the first call
	if err != nil {
		err = fmt.Errorf("grpcthrottle: %s.Throttle: %w", owner, err)
	}
	if c.CanceledAfter == 0 {
		c.CanceledAfter = defaultCanceledAfter
	}
	c.Classify = classifier(c.Classify)
	group, groupErr := throttle.NewGroup(func(string) throttle.Config {
		own := c
		if retriers != nil {
			own.Hooks = retriers.Hooks(c.Hooks)
		}
		return own
	}, g)
	if groupErr != nil {
		err = errors.Join(err, fmt.Errorf("grpcthrottle: %s.Group: %w", owner, groupErr))
	}
	if err == nil {
		c.Announce()
	}
	return throttles{name: c.Name, group: group, key: key, ownStatus: hasStatus(c.ShedErr), unthrottled: new(sync.Once)}, err
}

// of returns the throttle for a call, or nil if the group is closed: a program may still make calls
// while it shuts down. It logs the first of them.
func (t throttles) of(ctx context.Context, rpc RPC) *throttle.Throttle {
	th, err := t.group.Get(t.key(ctx, rpc))
	if err != nil { // ErrClosed: newThrottles has checked everything else
		t.unthrottled.Do(func() {
			slog.WarnContext(ctx, "grpcthrottle: calls pass no throttle", slog.String("throttle", t.name), slog.Any("error", err))
		})
	}
	return th
}
