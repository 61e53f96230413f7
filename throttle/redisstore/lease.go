package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// Campaign implements [store.Store].
func (b *Breaker) Campaign(ctx context.Context, c store.Candidate) (store.Lease, error) {
	answer, err := b.run(ctx, b.scripts.campaign, []string{b.keys.lease}, c.Owner, microseconds(c.TTL))
	if err != nil {
		return store.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w", b.keys.lease, err)
	}
	lease, err := readLease(answer)
	if err != nil {
		return store.Lease{}, fmt.Errorf("redisstore: campaign: %s: %w: %.200q", b.keys.lease, err, answer)
	}
	return lease, nil
}

func readLease(answer []any) (store.Lease, error) {
	if len(answer) != 3 {
		return store.Lease{}, errAnswer
	}
	owner, ok1 := answer[0].(string)
	digits, ok2 := answer[1].(string)
	remaining, ok3 := answer[2].(int64)
	term, err := strconv.ParseUint(digits, 10, 64)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return store.Lease{}, errAnswer
	}
	return store.Lease{Owner: owner, Term: term, Remaining: duration(remaining)}, nil
}

// Resign implements [store.Store].
func (b *Breaker) Resign(ctx context.Context, l store.Lease) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: resign: %w", err)
	}
	err := b.scripts.resign.Run(ctx, b.client, []string{b.keys.lease}, l.Owner, strconv.FormatUint(l.Term, 10)).Err()
	if err != nil {
		return fmt.Errorf("redisstore: resign: %s: %w", b.keys.lease, ended(ctx, err))
	}
	return nil
}

// mostMicros is the longest time that scripts are told, in microseconds: their numbers are exact up to here, with the time of now added.
const mostMicros = 1 << 52

// microseconds is a duration as scripts count. What is shorter than a microsecond is one: a length of 0 is never meant.
func microseconds(d time.Duration) int64 {
	if d > 0 && d < time.Microsecond {
		return 1
	}
	return min(max(0, d.Microseconds()), mostMicros)
}

// duration is what scripts count as a duration.
func duration(micros int64) time.Duration {
	return time.Duration(min(max(0, micros), mostMicros)) * time.Microsecond
}
