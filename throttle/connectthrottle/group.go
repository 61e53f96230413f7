package connectthrottle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
)

// defaultCanceledAfter is the Config.CanceledAfter that zero means.
const defaultCanceledAfter = time.Second

// RPC describes a call to the functions of a config.
type RPC struct {
	_ struct{} // keyed literals only

	// Spec describes the procedure. Its Procedure is the full name: "/pkg.Service/Method".
	Spec connect.Spec
	// Peer describes the other side. On a client, Peer.Addr is the host of the server.
	Peer connect.Peer
}

// throttles are the throttles of a client or a server, one per key.
type throttles struct {
	name    string
	group   *throttle.Group
	key     func(context.Context, RPC) string
	ownCode bool // Config.ShedErr has a code

	unthrottled *sync.Once // logged that calls pass no throttle
}

// newThrottles returns the throttles for the fields of a config, or an error that names every field
// which is out of range. Owner is the name of the config.
func newThrottles(
	owner string, c throttle.Config, g throttle.GroupConfig, key func(context.Context, RPC) string,
) (throttles, error) {
	err := c.Validate() // now, not with the first call
	if err != nil {
		err = fmt.Errorf("connectthrottle: %s.Throttle: %w", owner, err)
	}
	if c.CanceledAfter == 0 {
		c.CanceledAfter = defaultCanceledAfter
	}
	c.Classify = classifier(c.Classify)
	group, groupErr := throttle.NewGroup(func(string) throttle.Config { return c }, g)
	if groupErr != nil {
		err = errors.Join(err, fmt.Errorf("connectthrottle: %s.Group: %w", owner, groupErr))
	}
	if err == nil {
		c.Announce()
	}
	_, ownCode := codedOf(c.ShedErr)
	return throttles{name: c.Name, group: group, key: key, ownCode: ownCode, unthrottled: new(sync.Once)}, err
}

// of returns the throttle for a call, or nil if the group is closed: a program may still make calls
// while it shuts down. It logs the first of them.
func (t throttles) of(ctx context.Context, rpc RPC) *throttle.Throttle {
	th, err := t.group.Get(t.key(ctx, rpc))
	if err != nil { // ErrClosed: newThrottles has checked everything else
		t.unthrottled.Do(func() {
			slog.WarnContext(ctx, "connectthrottle: calls pass no throttle", slog.String("throttle", t.name), slog.Any("error", err))
		})
	}
	return th
}
