package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// maxProcedureID is what the table's CHAR(36) holds.
const maxProcedureID = 36

// ProcedureBucket asks for the tokens of a bucket by a stored procedure that you have: request_token, on MySQL or MariaDB, over a table
//
//	CREATE TABLE token_buckets (
//		id CHAR(36) PRIMARY KEY, available INT UNSIGNED, capacity INT UNSIGNED, refill_seconds INT UNSIGNED, last_refill_at TIMESTAMP(3)
//	)
//
// The procedure fills the bucket if refill_seconds have passed since it last did, takes a token if there is one, and affects a row if it took
// one. It is for those who have such buckets already; [Bucket] has none of their faults:
//
//   - A bucket that is missing, or has a NULL, denies for ever, as if it were empty.
//   - Nobody learns when to come again: RetryAfter is 0, which means that it is unknown.
//   - It takes one token at a time, and cannot be asked for how many are left.
//   - Around a refill it grants twice its capacity within a moment. Each refill begins the period anew, so that they drift.
//   - Times are whole seconds by the session's clock. In a time zone in which an hour comes twice, no bucket is filled for that hour.
//   - It is two statements, each with a commit of its own, and MariaDB counts the rows of both. Who fills a bucket is granted a token
//     that is not counted if others take all of them before its second statement, or if the capacity is 0.
//   - Names are compared as the column's collation does: "a" and "A" are mostly one bucket.
type ProcedureBucket struct {
	db *sql.DB
	id string
}

var _ bucket.TokenRequester = (*ProcedureBucket)(nil)

// NewProcedureBucket returns a requester of the bucket with that id, which must be in the table. It does not ask the database anything.
func NewProcedureBucket(db *sql.DB, id string) (*ProcedureBucket, error) {
	if db == nil {
		return nil, errors.New("sqlstore: db is nil")
	}
	if id == "" || len(id) > maxProcedureID {
		return nil, fmt.Errorf("sqlstore: id is %.64q of %d bytes: want 1 to %d bytes", id, len(id), maxProcedureID)
	}
	return &ProcedureBucket{db: db, id: id}, nil
}

// RequestToken implements [bucket.TokenRequester].
func (b *ProcedureBucket) RequestToken(ctx context.Context) error {
	result, err := b.db.ExecContext(ctx, "CALL request_token(?)", b.id)
	if err != nil {
		return fmt.Errorf("sqlstore: request token: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("sqlstore: request token: %w", err)
	}
	if n == 0 {
		return &bucket.DeniedError{Limiter: "request_token", Key: b.id}
	}
	return nil
}
