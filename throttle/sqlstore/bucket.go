package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket"
)

const (
	longestKey = 191 // that is kept as it is
	keyStart   = 160 // what is kept of a longer one, before its hash
)

// BucketConfig says where a bucket store keeps its levels.
type BucketConfig struct {
	// Name tells stores apart that share the table. Any 1 to 255 bytes. Required: give it that of the limiter.
	Name string
	// Prefix is how the name of the table begins, at most 40 ASCII letters, digits and underscores. A schema may stand before it, with a
	// dot. Default "spillway_".
	Prefix string
}

// Bucket is a [bucket.Store] in a database, on which the processes of a fleet share their buckets. Make it with [NewBucket].
//
// Each bucket is a row. One that is missing is a full one, so rows may be deleted at will: each that was not full gives its bucket one more
// burst. A request that is denied writes nothing.
//
//	step    statements
//	Take    1; on SQLite 2 if it is denied; on MySQL 2 for a Fixed bucket, of which the second is left out if it is denied
//	Peek    1
//	Return  1
//	Reset   1
//
// Take's own statement is the atomic step. On PostgreSQL it decides by the newest row, but what it says of a denied request is of the
// moment at which it began; if others have emptied the bucket since, it asks again.
//
// The database's own clock rules, in UTC, whatever time zone the session is in. It is read once per statement, before any wait for
// the row's lock; a time that has become old meanwhile only makes a bucket stricter. It counts microseconds, SQLite's milliseconds. Intervals and
// levels are in nanoseconds all the same, so nothing is lost by rounding; an interval below the clock's resolution means that the tokens
// of a whole tick come back at once.
//
// Keys are any bytes. One of up to 191 bytes is kept as it is, a longer one as its first 160 bytes and the SHA-256 of the whole.
//
// Commits cost more than anything else. On PostgreSQL, make the table UNLOGGED or set synchronous_commit off for these connections: a crash then
// gives each bucket one more burst at most. Give it no index beside the primary key.
type Bucket struct {
	db      *sql.DB
	dialect Dialect
	name    []byte
	prefix  string
	sql     bucketSQL
}

var _ bucket.Store = (*Bucket)(nil)

// NewBucket returns a store on a database, which stays the caller's to close. It does not ask the database anything.
func NewBucket(db *sql.DB, d Dialect, c BucketConfig) (*Bucket, error) {
	if db == nil {
		return nil, errors.New("sqlstore: db is nil")
	}
	table, err := bucketTable(d, c.Prefix)
	if err != nil {
		return nil, err
	}
	if c.Name == "" || len(c.Name) > longestName {
		return nil, fmt.Errorf("sqlstore: BucketConfig.Name is %.64q of %d bytes: want 1 to %d bytes", c.Name, len(c.Name), longestName)
	}
	return &Bucket{db: db, dialect: d, name: []byte(c.Name), prefix: c.Prefix, sql: newBucketSQL(d, table)}, nil
}

// Close implements [bucket.Store]. It does nothing: the database is the caller's.
func (b *Bucket) Close() error { return nil }

// CreateSchema creates the table if it is missing. Any number of processes may call it at once.
func (b *Bucket) CreateSchema(ctx context.Context) error {
	if hasTables(ctx, b.db, b.sql.table) {
		return nil // without asking for the right to create tables, which a service often does not have
	}
	statements, err := BucketSchema(b.dialect, b.prefix)
	if err != nil {
		return err
	}
	if err := createTables(ctx, b.db, b.dialect, b.prefix, statements); err != nil {
		return failed("create schema", err)
	}
	return nil
}

// Return implements [bucket.Store].
func (b *Bucket) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	if n <= 0 {
		return ctx.Err()
	}
	query, args := b.sql.giveBack, []any{min(n, l.Capacity) * int64(l.Interval()), b.name, bucketID(key)}
	if l.Algorithm == bucket.Fixed {
		query, args = b.sql.giveBackFixed, []any{n, b.name, bucketID(key), int64(l.Period)}
	}
	if _, err := b.db.ExecContext(ctx, query, args...); err != nil {
		return failed("return", err)
	}
	return nil
}

// Reset implements [bucket.Store].
func (b *Bucket) Reset(ctx context.Context, key string) error {
	if _, err := b.db.ExecContext(ctx, b.sql.reset, b.name, bucketID(key)); err != nil {
		return failed("reset", err)
	}
	return nil
}

// bucketID is what a key is called in the table. None that is kept as it is can be taken for one with a hash, which is longer.
func bucketID(key string) []byte {
	if len(key) <= longestKey {
		return append([]byte{}, key...) // never nil, which would be NULL
	}
	hash := sha256.Sum256([]byte(key))
	return append([]byte(key[:keyStart]), hash[:]...)
}
