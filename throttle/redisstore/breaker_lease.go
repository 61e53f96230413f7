package redisstore

import (
	"context"
	"fmt"
	"strconv"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// Campaign implements [breakerstore.Store].
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (lease breakerstore.Lease, err error) {
	reply, err := run(ctx, b.client, b.scripts.campaign, []string{b.keys.lease}, c.Owner, microseconds(c.TTL))
	if err == nil {
		lease, err = parseLease(reply)
	}
	return lease, failed("campaign", b.keys.lease, err)
}

func parseLease(reply []any) (breakerstore.Lease, error) {
	if len(reply) == 3 {
		owner, ok1 := reply[0].(string)
		digits, ok2 := reply[1].(string)
		remaining, ok3 := reply[2].(int64)
		if term, err := strconv.ParseUint(digits, 10, 64); ok1 && ok2 && ok3 && err == nil {
			return breakerstore.Lease{Owner: owner, Term: term, Remaining: duration(remaining)}, nil
		}
	}
	return breakerstore.Lease{}, fmt.Errorf("%w: %.200q", errReply, reply)
}

// Resign implements [breakerstore.Store].
func (b *Breaker) Resign(ctx context.Context, l breakerstore.Lease) error {
	_, err := run(ctx, b.client, b.scripts.resign, []string{b.keys.lease}, l.Owner, strconv.FormatUint(l.Term, 10))
	return failed("resign", b.keys.lease, err)
}
