package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

const (
	maxPlainKey     = 191 // bytes of the longest key that is stored unchanged
	hashedKeyPrefix = 160 // bytes of a longer key that are stored before its hash
	maxAttempts     = 300 // of a step, while other requests change the bucket

	maxAge = time.Second / 2 // of a level's time: less than the step back of a clock that Level.Take ignores
)

// BucketConfig configures the store of a limiter.
type BucketConfig struct {
	// Name is the name of the limiter, the same in all processes of a fleet. Limiters that share
	// the table need different names. Any bytes, 1 to 255. Required.
	Name string
	// Prefix is the start of the table's name: at most 40 ASCII letters, digits and underscores. A
	// schema and a dot may come before it. Default "spillway_".
	Prefix string
	// SweepEvery is the average time between two sweeps. A sweep deletes the rows of buckets that
	// have been full for an hour. It runs in the background, and a request starts it when it is
	// due. Default one hour. A negative value disables sweeps: then call [Bucket.Sweep], or keep
	// the rows.
	SweepEvery time.Duration
}

func (c BucketConfig) validate(d Dialect) error {
	e := check.Errors{Owner: "sqlstore: BucketConfig"}
	e.Add(d.validate())
	e.Name("Name", c.Name)
	e.Add(checkPrefix("BucketConfig.Prefix", c.Prefix))
	return e.Err()
}

// Bucket is a [bucketstore.Store] in a database. Create it with [NewBucket]. The package comment
// describes the costs of its steps, and the settings of the database that make it fast. It is safe
// for concurrent use.
type Bucket struct {
	db      *sql.DB
	dialect Dialect
	name    []byte
	prefix  string
	sql     bucketSQL
	sweeper sweeper

	connections connections
}

var (
	_ bucketstore.Warmer  = (*Bucket)(nil)
	_ bucketstore.Checker = (*Bucket)(nil)
)

// NewBucket returns a store in a database. The caller closes the database. NewBucket does not
// connect to it.
//
// Set the size of the pool before the first request, with db.SetMaxOpenConns and
// db.SetMaxIdleConns. In a pool without a bound, which is the default of database/sql, the store
// uses two connections at a time. A connection that takes longer to open than a request may wait is
// opened in the background, for later requests.
func NewBucket(db *sql.DB, d Dialect, c BucketConfig) (*Bucket, error) {
	if db == nil {
		return nil, errNoDB
	}
	if err := c.validate(d); err != nil {
		return nil, err
	}
	b := &Bucket{db: db, dialect: d, name: []byte(c.Name), prefix: c.Prefix, sql: newBucketSQL(d, c.Prefix)}
	b.connections.db = db
	b.sweeper.start(c.SweepEvery)
	return b, nil
}

// Close implements [bucketstore.Store]. It ends the current sweep and starts no other. It leaves
// the database open, and requests still work.
func (b *Bucket) Close() error {
	b.sweeper.close()
	return nil
}

// CreateSchema creates the table if it is missing. Several processes may call it at the same time.
func (b *Bucket) CreateSchema(ctx context.Context) error {
	return createSchema(ctx, b.db, b.dialect, b.prefix, b.sql.table, BucketSchema)
}

// Return implements [bucketstore.Store].
func (b *Bucket) Return(ctx context.Context, key string, _ bucket.Limit, n int64) error {
	if n <= 0 {
		return ctx.Err()
	}
	_, err := b.exec(ctx, sql.Result.RowsAffected, b.sql.giveBack, n, n, b.name, bucketID(key))
	return stepFailed("return", err)
}

// Reset implements [bucketstore.Store]. It deletes the row. A request that waits for the row at
// that moment counts the bucket as full since the request began. It can grant tokens again that
// came back while it waited.
func (b *Bucket) Reset(ctx context.Context, key string) error {
	_, err := b.exec(ctx, sql.Result.RowsAffected, b.sql.reset, b.name, bucketID(key))
	return stepFailed("reset", err)
}

// bucketID returns the ID of a key in the table. A hashed ID is longer than any unchanged key, so
// no two keys have the same ID.
func bucketID(key string) []byte {
	if len(key) <= maxPlainKey {
		return append([]byte{}, key...) // not nil, which would be NULL
	}
	hash := sha256.Sum256([]byte(key))
	return append([]byte(key[:hashedKeyPrefix]), hash[:]...)
}

// querier is a pool of connections, or one connection.
type querier interface {
	rowsQuerier

	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// run calls a func that runs statements, and returns its result. The func may still be running when
// run returns an error, so it must not write variables of its caller.
//
// On SQLite, run calls the func on another goroutine, with a context that does not end. If the
// caller's context ends, run returns and the func goes on. There are two reasons:
//
//   - A statement waits for the file's lock up to busy_timeout, even if its context ends.
//   - A driver that is interrupted just after it has found a row may not finish the statement
//     (modernc.org/sqlite before 1.40.1). Then neither its write nor a later one on that connection
//     is committed, and the file stays locked until the process ends.
func run[T any](ctx context.Context, b *Bucket, statements func(ctx context.Context, db querier) (T, error)) (result T, err error) {
	if b.dialect != SQLite || ctx.Done() == nil {
		err = retry(ctx, func() error {
			return b.connections.use(ctx, func(db querier) error {
				result, err = statements(ctx, db)
				return err
			})
		})
		return result, err
	}
	conn, err := b.connections.take(ctx)
	if err != nil {
		return result, err
	}
	results, errs := make(chan T, 1), make(chan error, 1)
	go func() {
		defer b.connections.release(conn)
		result, err := statements(context.WithoutCancel(ctx), conn)
		results <- result
		errs <- err
	}()
	select {
	case result = <-results:
		return result, <-errs
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// retry repeats statements that the database has undone. MySQL undoes one of two statements that
// wait for each other's locks, for example an INSERT ... ON DUPLICATE KEY UPDATE and the DELETE of
// a reset.
func retry(ctx context.Context, statements func() error) (err error) {
	for range maxAttempts {
		if err = statements(); err == nil || ctx.Err() != nil || !isRetryable(err) {
			return err
		}
	}
	return err
}

// exec runs a statement that returns no rows, and returns a number of its result: that of the changed rows, or what the
// statement passes to LAST_INSERT_ID.
func (b *Bucket) exec(ctx context.Context, number func(sql.Result) (int64, error), query string, args ...any) (int64, error) {
	return run(ctx, b, func(ctx context.Context, db querier) (int64, error) {
		result, err := db.ExecContext(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		return number(result)
	})
}
