package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// maxProcedureID is the length of the longest ID, as the CHAR(36) of the table.
const maxProcedureID = 36

// ProcedureBucket takes tokens by a stored procedure that you already have: request_token, on MySQL
// or MariaDB, over this table:
//
//	CREATE TABLE token_buckets (
//		id CHAR(36) PRIMARY KEY, available INT UNSIGNED, capacity INT UNSIGNED, refill_seconds INT UNSIGNED, last_refill_at TIMESTAMP(3)
//	)
//
// The procedure fills the bucket if refill_seconds have passed since the last refill. It takes a
// token if there is one, and then affects one row. Use it only for such buckets. [Bucket] has none
// of these limitations:
//
//   - A bucket that is missing, or has a NULL, denies every request, as an empty bucket does.
//   - RetryAfter of a denial is 0, which means that it is unknown.
//   - A call takes one token. The number of tokens left cannot be read.
//   - Around a refill the bucket grants up to twice its capacity at once. Each refill starts a new
//     period, so the periods drift.
//   - Times are whole seconds of the session's clock. In the hour that a time zone repeats, no
//     bucket is refilled.
//   - The procedure runs two statements, each with its own commit, and MariaDB counts the rows of
//     both. So the call that fills a bucket is always granted. Its token is not counted if other
//     calls take all tokens before its second statement, or if the capacity is 0.
//   - IDs are compared by the column's collation. With most collations "a" and "A" are one bucket.
type ProcedureBucket struct {
	db *sql.DB
	id string
}

var _ bucket.TokenRequester = (*ProcedureBucket)(nil)

// NewProcedureBucket returns the bucket with this ID, which must be in the table. It does not
// connect to the database.
func NewProcedureBucket(db *sql.DB, id string) (*ProcedureBucket, error) {
	if db == nil {
		return nil, errNoDB
	}
	if id == "" {
		return nil, fmt.Errorf("sqlstore: id is missing: want 1 to %d bytes", maxProcedureID)
	}
	if len(id) > maxProcedureID {
		return nil, fmt.Errorf("sqlstore: id is %s: want 1 to %d bytes", check.Shown(id), maxProcedureID)
	}
	return &ProcedureBucket{db: db, id: id}, nil
}

// RequestToken implements [bucket.TokenRequester].
func (b *ProcedureBucket) RequestToken(ctx context.Context) error {
	n := int64(0)
	result, err := b.db.ExecContext(ctx, "CALL request_token(?)", b.id)
	if err == nil {
		n, err = result.RowsAffected()
	}
	switch {
	case err != nil:
		return fmt.Errorf("sqlstore: request token: %w", err)
	case n == 0:
		return &bucket.DeniedError{Limiter: "request_token", Key: b.id}
	}
	return nil
}
