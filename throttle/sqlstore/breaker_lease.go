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
	maxOwner   = 1024 // bytes, as the column in MySQL
	sweepEvery = time.Minute
	probeGrace = time.Minute // the time that a row of probes is kept after its period, for a late request
)

// Campaign implements [breakerstore.Store]. If another manager leads, it only reads. Otherwise one
// UPDATE decides the election, and a second read returns the result.
func (b *Breaker) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	if len(c.Owner) > maxOwner {
		return breakerstore.Lease{}, fmt.Errorf("sqlstore: campaign: the owner has %d bytes: want at most %d", len(c.Owner), maxOwner)
	}
	lease, valid, err := b.lease(ctx)
	if err != nil || valid && lease.Owner != c.Owner {
		return lease, err
	}
	owner, ttl := []byte(c.Owner), c.TTL.Microseconds()
	if lease.Term == 0 { // there may be no row yet
		if _, err := b.db.ExecContext(ctx, b.sql.insertLease, b.name, []byte{}); err != nil {
			return breakerstore.Lease{}, stepFailed("campaign", err)
		}
	}
	if _, err := b.db.ExecContext(ctx, b.sql.campaign, owner, owner, ttl, ttl, b.name, owner); err != nil {
		return breakerstore.Lease{}, stepFailed("campaign", err)
	}
	lease, _, err = b.lease(ctx)
	if err == nil && lease.Owner == c.Owner {
		b.sweep(ctx)
	}
	return lease, err
}

// lease returns the last lease, and whether it is valid now.
func (b *Breaker) lease(ctx context.Context) (lease breakerstore.Lease, valid bool, err error) {
	var owner []byte
	var term, remaining int64
	err = b.db.QueryRowContext(ctx, b.sql.lease, b.name).Scan(&owner, &term, &remaining, &valid)
	if errors.Is(err, sql.ErrNoRows) {
		return breakerstore.Lease{}, false, nil
	}
	if err != nil {
		return breakerstore.Lease{}, false, stepFailed("read lease", err)
	}
	return breakerstore.Lease{
		Owner: string(owner), Term: uint64(term), Remaining: time.Duration(max(0, remaining)) * time.Microsecond,
	}, valid, nil
}

// Resign implements [breakerstore.Store].
func (b *Breaker) Resign(ctx context.Context, l breakerstore.Lease) error {
	_, err := b.db.ExecContext(ctx, b.sql.resign, b.name, []byte(l.Owner), int64(l.Term))
	return stepFailed("resign", err)
}

// sweep deletes the rows of probes whose period is over, at most once per sweepEvery. Only the
// leader calls it. After an error, a later call deletes the rows.
func (b *Breaker) sweep(ctx context.Context) {
	last, now := b.swept.Load(), int64(time.Since(b.created))
	if now-last < int64(sweepEvery) || !b.swept.CompareAndSwap(last, now) {
		return
	}
	_ = inTransaction(ctx, b.db, b.dialect, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.sql.sweep, b.name, probeGrace.Microseconds())
		return err
	})
}
