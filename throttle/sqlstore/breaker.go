package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

const (
	longestName    = 255  // as of a breaker
	maxOwner       = 1024 // as the column in MySQL
	longestChannel = 63   // as PostgreSQL has it
)

// BreakerConfig says where a breaker's store keeps what it keeps.
type BreakerConfig struct {
	// Name tells breakers apart that share the tables. Any 1 to 255 bytes. Required: give it that of the breaker.
	Name string
	// Prefix is how the names of the tables begin, at most 40 ASCII letters, digits and underscores. A schema may stand before it, with a
	// dot. Default "spillway_".
	Prefix string
	// NotifyChannel is a channel that is notified of every change, PostgreSQL only: what is passed to [Watch] may LISTEN there. Default none.
	NotifyChannel string
}

// Breaker is a [breakerstore.Store] in a database. Make it with [NewBreaker].
type Breaker struct {
	db      *sql.DB
	dialect Dialect
	name    []byte
	prefix  string
	sql     breakerSQL
	notify  string
	swept   atomic.Int64 // when old probes were last deleted, by this process's clock, in nanoseconds since begun
	begun   time.Time
}

var _ breakerstore.Store = (*Breaker)(nil)

// NewBreaker returns a store on a database, which stays the caller's to close. It does not ask the database anything.
func NewBreaker(db *sql.DB, d Dialect, c BreakerConfig) (*Breaker, error) {
	if db == nil {
		return nil, errors.New("sqlstore: db is nil")
	}
	t, err := newBreakerTables(d, c.Prefix)
	if err != nil {
		return nil, err
	}
	if c.Name == "" || len(c.Name) > longestName {
		return nil, fmt.Errorf("sqlstore: BreakerConfig.Name is %.64q of %d bytes: want 1 to %d bytes", c.Name, len(c.Name), longestName)
	}
	if c.NotifyChannel != "" {
		if d != PostgreSQL {
			return nil, fmt.Errorf("sqlstore: BreakerConfig.NotifyChannel is %.64q: %v has no channels, want none", c.NotifyChannel, d)
		}
		if err := identifier("BreakerConfig.NotifyChannel", c.NotifyChannel, longestChannel, false); err != nil {
			return nil, err
		}
	}
	b := &Breaker{
		db: db, dialect: d, name: []byte(c.Name), prefix: c.Prefix, sql: newBreakerSQL(t, c.NotifyChannel != ""), notify: c.NotifyChannel,
		begun: time.Now(),
	}
	b.swept.Store(-int64(sweepEvery))
	return b, nil
}

// Close implements [breakerstore.Store]. It does nothing: the database is the caller's.
func (b *Breaker) Close() error { return nil }

// CreateSchema creates the tables if they are missing. Any number of processes may call it at once.
func (b *Breaker) CreateSchema(ctx context.Context) error {
	if hasTables(ctx, b.db, b.sql.tables) {
		return nil // without asking for the right to create tables, which a service often does not have
	}
	statements, err := BreakerSchema(b.dialect, b.prefix)
	if err != nil {
		return err
	}
	if err := createTables(ctx, b.db, b.dialect, b.prefix, statements); err != nil {
		return failed("create schema", err)
	}
	return nil
}

// inTransaction commits what do has done, unless that fails.
func (b *Breaker) inTransaction(ctx context.Context, do func(tx *sql.Tx) error) error {
	return inTransaction(ctx, b.db, b.dialect, do)
}

// Watched is a [Breaker] that tells of changes as well. Make it with [Watch].
type Watched struct {
	*Breaker

	listen func(ctx context.Context, changed func()) error
}

var _ breakerstore.Watcher = (*Watched)(nil)

// Watch returns the store as a [breakerstore.Watcher]. database/sql knows no notifications, so listen brings them: it calls changed whenever
// something may have changed, until its context ends, and returns an error if it can listen no longer. It is a hint only; what it
// does not tell of is found at the next refresh.
func Watch(b *Breaker, listen func(ctx context.Context, changed func()) error) (*Watched, error) {
	if b == nil || listen == nil {
		return nil, errors.New("sqlstore: Watch needs a store, and a func that listens")
	}
	return &Watched{Breaker: b, listen: listen}, nil
}

// Watch implements [breakerstore.Watcher].
func (w *Watched) Watch(ctx context.Context, changed func()) error { return w.listen(ctx, changed) }
