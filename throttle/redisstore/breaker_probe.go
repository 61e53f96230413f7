package redisstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// probesPerCall is the number of requests in one script call. Redis runs nothing else meanwhile,
// and a call of this size takes it about one millisecond.
const probesPerCall = 256

// Probe implements [breakerstore.Store]. If it fails, Redis may have counted probes that no manager
// uses. It never grants more than the budget.
func (b *Breaker) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("probe", "", err)
	}
	for i, r := range requests {
		if r.Every <= 0 {
			return nil, fmt.Errorf("redisstore: probe: request %d: Every is %v: want more than 0", i, r.Every)
		}
	}
	grants := make([]breakerstore.ProbeGrant, 0, len(requests))
	for chunk := range slices.Chunk(requests, probesPerCall) {
		granted, err := b.probe(ctx, chunk)
		if err != nil {
			return nil, failed("probe", b.keys.probes+"*", err)
		}
		grants = append(grants, granted...)
	}
	return grants, nil
}

func (b *Breaker) probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	keys, args := make([]string, len(requests)), make([]any, 0, 4*len(requests))
	for i, r := range requests {
		keys[i] = b.keys.probe(r.ID, r.Generation)
		every := microseconds(r.Every)
		args = append(args, sinceMicros(r.Since, every), every, r.Budget, r.Want)
	}
	reply, err := run(ctx, b.client, b.scripts.probe, keys, args...)
	if err != nil {
		return nil, err
	}
	if len(reply) != 2*len(requests) {
		return nil, fmt.Errorf("%w: %.200q", errReply, reply)
	}
	grants := make([]breakerstore.ProbeGrant, len(requests))
	for i := range grants {
		granted, ok1 := reply[2*i].(int64)
		remaining, ok2 := reply[2*i+1].(int64)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("%w: %.200q", errReply, reply)
		}
		grants[i] = breakerstore.ProbeGrant{Granted: int(granted), Remaining: duration(remaining)}
	}
	return grants, nil
}

// sinceMicros converts a time for a script. It moves a time before 1970 forward by whole periods,
// to the first period that begins in 1970 or later. The reason is the zero time: numbers of Lua
// cannot hold it exactly.
func sinceMicros(since time.Time, every int64) int64 {
	micros := min(since.UnixMicro(), maxMicros)
	if micros < 0 {
		micros = (micros%every + every) % every
	}
	return micros
}
