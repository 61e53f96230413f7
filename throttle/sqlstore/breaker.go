package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// BreakerConfig configures the store of a breaker.
type BreakerConfig struct {
	// Name is the name of the breaker, the same in all processes of a fleet. Breakers that share
	// the tables need different names. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is the start of the table names: at most 40 ASCII letters, digits and underscores. A
	// schema and a dot may come before it. Default "spillway_".
	Prefix string
	// NotifyChannel is a PostgreSQL channel. The store sends a notification to it with every
	// change, and the function passed to [Watch] may LISTEN to it. PostgreSQL only. Default none.
	NotifyChannel string
}

func (c BreakerConfig) validate(d Dialect) error {
	e := check.Errors{Owner: "sqlstore: BreakerConfig"}
	e.Add(d.validate())
	e.Name("Name", c.Name)
	e.Add(checkPrefix("BreakerConfig.Prefix", c.Prefix))
	switch {
	case c.NotifyChannel == "":
	case d == PostgreSQL:
		e.Add(checkIdentifier("BreakerConfig.NotifyChannel", c.NotifyChannel, maxIdentifier, false))
	case d.validate() == nil:
		e.Want(false, "NotifyChannel", check.Shown(c.NotifyChannel), fmt.Sprintf("none, because %v has no channels", d))
	}
	return e.Err()
}

// Breaker is a [breakerstore.Store] in a database. Create it with [NewBreaker]. It is safe for
// concurrent use.
type Breaker struct {
	db      *sql.DB
	dialect Dialect
	name    []byte
	prefix  string
	sql     breakerSQL
	notify  string
	swept   atomic.Int64           // when old probes were last deleted, in nanoseconds since created
	sweptTo atomic.Pointer[[]byte] // the ID at which the last sweep stopped, nil if at the end
	created time.Time
}

var _ breakerstore.Store = (*Breaker)(nil)

// NewBreaker returns a store in a database. The caller closes the database. NewBreaker does not
// connect to it.
func NewBreaker(db *sql.DB, d Dialect, c BreakerConfig) (*Breaker, error) {
	if db == nil {
		return nil, errNoDB
	}
	if err := c.validate(d); err != nil {
		return nil, err
	}
	b := &Breaker{
		db: db, dialect: d, name: []byte(c.Name), prefix: c.Prefix, notify: c.NotifyChannel,
		sql: newBreakerSQL(d, c.Prefix, c.NotifyChannel != ""), created: time.Now(),
	}
	b.swept.Store(-int64(sweepEvery))
	return b, nil
}

// Close implements [breakerstore.Store]. It does nothing, and leaves the database open.
func (b *Breaker) Close() error { return nil }

// CreateSchema creates the tables if they are missing. Several processes may call it at the same
// time.
func (b *Breaker) CreateSchema(ctx context.Context) error {
	return createSchema(ctx, b.db, b.dialect, b.prefix, b.sql.tables, BreakerSchema)
}

// Watched is a [Breaker] that also reports changes. Create it with [Watch].
type Watched struct {
	*Breaker

	listen func(ctx context.Context, changed func()) error
}

var _ breakerstore.Watcher = (*Watched)(nil)

// Watch returns the store as a [breakerstore.Watcher]. Package database/sql has no notifications,
// so the caller supplies listen. Listen calls changed when the store may have changed, until its
// context ends. It returns an error if it cannot listen any longer. A missed change is found by the
// next refresh.
func Watch(b *Breaker, listen func(ctx context.Context, changed func()) error) (*Watched, error) {
	switch {
	case b == nil:
		return nil, errors.New("sqlstore: Watch: b is nil: want a store of NewBreaker")
	case listen == nil:
		return nil, errors.New("sqlstore: Watch: listen is nil: want a func that calls changed")
	}
	return &Watched{Breaker: b, listen: listen}, nil
}

// Watch implements [breakerstore.Watcher].
func (w *Watched) Watch(ctx context.Context, changed func()) error { return w.listen(ctx, changed) }

const (
	maxOwner   = 1024 // bytes, as the column in MySQL
	sweepEvery = time.Minute
	sweepTime  = 50 * time.Millisecond
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
// leader calls it. The answer to Campaign waits for it, so it stops after sweepTime, and the next call
// goes on. After an error, a later call deletes the rows.
func (b *Breaker) sweep(ctx context.Context) {
	last, now := b.swept.Load(), int64(time.Since(b.created))
	if now-last < int64(sweepEvery) || !b.swept.CompareAndSwap(last, now) {
		return
	}
	for begun := time.Now(); time.Since(begun) < sweepTime; {
		if n, err := b.sweepSome(ctx); err != nil || n < rowsPerStatement {
			return
		}
	}
	b.swept.Store(last)
}

// sweepSome deletes the next of these rows, and returns how many it has found. It goes on at the ID at
// which the last call stopped: on PostgreSQL, a scan of rows that were deleted takes long.
func (b *Breaker) sweepSome(ctx context.Context) (found int, err error) {
	last := []byte{}
	if to := b.sweptTo.Load(); to != nil {
		last = *to
	}
	args := []any{b.name, probeGrace.Microseconds()}
	err = eachRow(ctx, b.db, b.sql.oldProbes, append(args, last, rowsPerStatement), func(rows *sql.Rows) error {
		var id []byte
		err := rows.Scan(&id)
		args, last = append(args, id), id
		return err
	})
	if found = len(args) - 2; err == nil && found > 0 {
		err = inTransaction(ctx, b.db, b.dialect, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, b.sql.sweep.of(found), args...)
			return err
		})
	}
	switch {
	case err != nil:
	case found < rowsPerStatement:
		b.sweptTo.Store(nil)
	default:
		b.sweptTo.Store(&last)
	}
	return found, err
}
