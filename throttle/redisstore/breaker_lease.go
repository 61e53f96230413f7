package redisstore

import (
	"context"
	"fmt"
	"strconv"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// Campaign implements [breakerstore.Store].
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	reply, err := run(ctx, b.client, b.scripts.campaign, []string{b.keys.lease}, c.Owner, microseconds(c.TTL))
	if err != nil {
		return breakerstore.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w", b.keys.lease, err)
	}
	lease, err := parseLease(reply)
	if err != nil {
		return breakerstore.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w: %.200q", b.keys.lease, err, reply)
	}
	return lease, nil
}

func parseLease(reply []any) (breakerstore.Lease, error) {
	if len(reply) != 3 {
		return breakerstore.Lease{}, errReply
	}
	owner, ok1 := reply[0].(string)
	digits, ok2 := reply[1].(string)
	remaining, ok3 := reply[2].(int64)
	term, err := strconv.ParseUint(digits, 10, 64)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return breakerstore.Lease{}, errReply
	}
	return breakerstore.Lease{Owner: owner, Term: term, Remaining: duration(remaining)}, nil
}

// Resign implements [breakerstore.Store].
func (b *Breaker) Resign(ctx context.Context, l breakerstore.Lease) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: resign: %w", err)
	}
	err := b.scripts.resign.Run(ctx, b.client, []string{b.keys.lease}, l.Owner, strconv.FormatUint(l.Term, 10)).Err()
	if err != nil {
		return fmt.Errorf("redisstore: resign: %s: %w", b.keys.lease, contextError(ctx, err))
	}
	return nil
}
