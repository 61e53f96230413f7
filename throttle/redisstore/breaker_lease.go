package redisstore

import (
	"context"
	"fmt"
	"strconv"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// Campaign implements [breakerstore.Store].
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	answer, err := run(ctx, b.client, b.scripts.campaign, []string{b.keys.lease}, c.Owner, microseconds(c.TTL))
	if err != nil {
		return breakerstore.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w", b.keys.lease, err)
	}
	lease, err := parseLease(answer)
	if err != nil {
		return breakerstore.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w: %.200q", b.keys.lease, err, answer)
	}
	return lease, nil
}

func parseLease(answer []any) (breakerstore.Lease, error) {
	if len(answer) != 3 {
		return breakerstore.Lease{}, errReply
	}
	owner, ok1 := answer[0].(string)
	digits, ok2 := answer[1].(string)
	remaining, ok3 := answer[2].(int64)
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
