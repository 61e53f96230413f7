package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

const (
	sweepEvery = time.Minute
	probeGrace = time.Minute // an old probe's row may be asked for by somebody who read the clock a while ago
)

// Campaign implements [breakerstore.Store]. Who cannot win only reads. Who can asks in one statement, which decides, and reads what came of it.
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	if len(c.Owner) > maxOwner {
		return breakerstore.Lease{}, fmt.Errorf("sqlstore: campaign: the owner has %d bytes: want at most %d", len(c.Owner), maxOwner)
	}
	lease, holds, err := b.lease(ctx)
	if err != nil || holds && lease.Owner != c.Owner {
		return lease, err
	}
	owner, ttl := []byte(c.Owner), c.TTL.Microseconds()
	if lease.Term == 0 { // nobody has ever led
		if _, err := b.db.ExecContext(ctx, b.sql.insertLease, b.name, []byte{}); err != nil {
			return breakerstore.Lease{}, failed("campaign", err)
		}
	}
	if _, err := b.db.ExecContext(ctx, b.sql.campaign, owner, owner, ttl, ttl, b.name, owner); err != nil {
		return breakerstore.Lease{}, failed("campaign", err)
	}
	lease, _, err = b.lease(ctx)
	if err == nil && lease.Owner == c.Owner {
		b.sweep(ctx)
	}
	return lease, err
}

// lease returns the last lease and whether it holds.
func (b *Breaker) lease(ctx context.Context) (breakerstore.Lease, bool, error) {
	var owner []byte
	var term, remaining int64
	var holds bool
	err := b.db.QueryRowContext(ctx, b.sql.lease, b.name).Scan(&owner, &term, &remaining, &holds)
	if errors.Is(err, sql.ErrNoRows) {
		return breakerstore.Lease{}, false, nil
	}
	if err != nil {
		return breakerstore.Lease{}, false, failed("read lease", err)
	}
	return breakerstore.Lease{Owner: string(owner), Term: uint64(term), Remaining: time.Duration(max(0, remaining)) * time.Microsecond}, holds, nil
}

// Resign implements [breakerstore.Store].
func (b *Breaker) Resign(ctx context.Context, l breakerstore.Lease) error {
	if _, err := b.db.ExecContext(ctx, b.sql.resign, b.name, []byte(l.Owner), int64(l.Term)); err != nil {
		return failed("resign", err)
	}
	return nil
}

// sweep deletes, once in a while, the probes of times that are over. Only the leader does. If it fails, the next one does it.
func (b *Breaker) sweep(ctx context.Context) {
	last, now := b.swept.Load(), int64(time.Since(b.begun))
	if now-last < int64(sweepEvery) || !b.swept.CompareAndSwap(last, now) {
		return
	}
	_ = b.inTransaction(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.sql.sweep, b.name, probeGrace.Microseconds())
		return err
	})
}
