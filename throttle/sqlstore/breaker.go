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
	swept   atomic.Int64 // when old probes were last deleted, in nanoseconds since created
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
