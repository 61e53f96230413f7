package grpcthrottle

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle"
)

// members are the throttles of a client or a server, one per key.
type members struct {
	group  *throttle.Group
	key    func(context.Context, RPC) string
	spoken bool // Config.ShedErr has a status, which gRPC will find
}

// newMembers returns members that behave as the fields of the owner's config say, or an error that names what is out of range.
func newMembers(owner string, c throttle.Config, g throttle.GroupConfig, key func(context.Context, RPC) string) (members, error) {
	silent := c
	silent.Hooks = throttle.Hooks{}
	_, err := throttle.New(silent) // now, not with the first call
	if err != nil {
		err = fmt.Errorf("grpcthrottle: %s.Throttle: %w", owner, err)
	}
	c.Classify = throttle.First(throttle.IgnoreIf(saysNothing), c.Classify)
	group, groupErr := throttle.NewGroup(func(string) throttle.Config { return c }, g)
	if groupErr != nil {
		err = errors.Join(err, fmt.Errorf("grpcthrottle: %s.Group: %w", owner, groupErr))
	}
	return members{group: group, key: key, spoken: hasStatus(c.ShedErr)}, err
}

// of returns the throttle for a call, or nil when the group is closed: a program that is on its way out still makes calls.
func (m members) of(ctx context.Context, rpc RPC) *throttle.Throttle {
	t, _ := m.group.Get(m.key(ctx, rpc)) // nothing else can be wrong: newMembers has seen to that
	return t
}
