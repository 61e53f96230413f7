package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

const (
	maxPlainKey     = 191 // that is kept as it is
	hashedKeyPrefix = 160 // what is kept of a longer one, before its hash
)

// BucketConfig says where a bucket store keeps its levels.
type BucketConfig struct {
	// Name tells stores apart that share the table. Any 1 to 255 bytes. Required: give it that of the limiter.
	Name string
	// Prefix is how the name of the table begins, at most 40 ASCII letters, digits and underscores. A schema may stand before it, with a
	// dot. Default "spillway_".
	Prefix string
	// SweepEvery is how often, on average, the rows of buckets that have been full for an hour are deleted, beside the requests of somebody
	// who happens to ask when it is time. Zero is an hour, less is never: then call Sweep, or let the rows be.
	SweepEvery time.Duration
}

// Bucket is a [bucketstore.Store] in a database, on which the processes of a fleet share their buckets. Make it with [NewBucket]. The package comment
// matches what its steps cost, and what to set for speed. All methods are safe for concurrent use.
type Bucket struct {
	db      *sql.DB
	dialect Dialect
	name    []byte
	prefix  string
	sql     bucketSQL
	sweeper sweeper
}

var _ bucketstore.Store = (*Bucket)(nil)

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
	b := &Bucket{db: db, dialect: d, name: []byte(c.Name), prefix: c.Prefix, sql: newBucketSQL(d, table)}
	b.sweeper.start(c.SweepEvery)
	return b, nil
}

// Close implements [bucketstore.Store]. It ends a sweep that is under way, and leaves the database open, which is the caller's. Requests are
// answered as before.
func (b *Bucket) Close() error {
	b.sweeper.close()
	return nil
}

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

// Return implements [bucketstore.Store].
func (b *Bucket) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	if n <= 0 {
		return ctx.Err()
	}
	l = l.WithDefaults()
	query, args := b.sql.giveBack, []any{min(n, l.Capacity) * int64(l.Interval()), b.name, bucketID(key)}
	if l.Algorithm == bucket.Fixed {
		query, args = b.sql.giveBackFixed, []any{n, b.name, bucketID(key), int64(l.Period)}
	}
	if _, err := b.change(ctx, query, args...); err != nil {
		return failed("return", err)
	}
	return nil
}

// Reset implements [bucketstore.Store]. To a statement the time is that of its beginning: if it waits for the bucket's row when that is deleted, the
// bucket is full to it from then on, and what came back while it waited is granted once more.
func (b *Bucket) Reset(ctx context.Context, key string) error {
	if _, err := b.change(ctx, b.sql.reset, b.name, bucketID(key)); err != nil {
		return failed("reset", err)
	}
	return nil
}

// bucketID is what a key is called in the table. None that is kept as it is can be taken for one with a hash, which is longer.
func bucketID(key string) []byte {
	if len(key) <= maxPlainKey {
		return append([]byte{}, key...) // never nil, which would be NULL
	}
	hash := sha256.Sum256([]byte(key))
	return append([]byte(key[:hashedKeyPrefix]), hash[:]...)
}

// querier is what statements are put to: a pool of connections, or one of them.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ask lets a func put statements to the database. If there is an error, the func may be at it still, so what it writes to must not be looked
// at then.
//
// To SQLite they are put with a context that does not end, by a goroutine that nobody waits for when the caller's has ended. A statement waits
// for the file's lock as long as busy_timeout allows, whatever its context says, and that would hold the caller too. And a driver that is
// interrupted just when a row has been found may forget to finish the statement (modernc.org/sqlite before 1.40.1 does): what it wrote is never
// committed, nor is what others write on that connection, and the file is locked for as long as the process lives.
func (b *Bucket) ask(ctx context.Context, statements func(ctx context.Context, db querier) error) error {
	if b.dialect != SQLite || ctx.Done() == nil {
		return again(ctx, func() error { return statements(ctx, b.db) })
	}
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer conn.Close()
		done <- statements(context.WithoutCancel(ctx), conn)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// again puts statements once more while the database takes them back. MySQL does so with an INSERT ... ON DUPLICATE KEY UPDATE beside a DELETE
// of the same row, as of a bucket that is reset: each holds a lock that the other waits for, and nothing of one of them is done.
func again(ctx context.Context, statements func() error) (err error) {
	for range maxAttempts {
		if err = statements(); err == nil || ctx.Err() != nil || !isRetryable(err) {
			return err
		}
	}
	return err
}

// change is a statement that returns no rows.
func (b *Bucket) change(ctx context.Context, query string, args ...any) (changed int64, err error) {
	told := make(chan int64, 1)
	err = b.ask(ctx, func(ctx context.Context, db querier) error {
		result, err := db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		told <- n
		return err
	})
	if err != nil {
		return 0, err
	}
	return <-told, nil
}
