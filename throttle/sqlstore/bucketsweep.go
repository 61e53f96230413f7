package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// fullFor is how long a bucket must have been full before it is forgotten. A clock that steps back by less mints nothing.
const fullFor = time.Hour

// Sweep deletes the rows of buckets that have been full for an hour, which is as good as having them, and returns how many there were. It
// reads all rows of the store, and deletes some hundreds at once, so that nobody waits for it. Call it daily perhaps; on an error, or if it
// is never called, there are only more rows.
func (b *Bucket) Sweep(ctx context.Context) (deleted int64, err error) {
	last := []byte{}
	for first := true; ; first = false {
		ids, err := b.fullBuckets(ctx, last)
		if err == nil && first {
			// The empty key is not after any other, so it is looked for by its name.
			ids = append([][]byte{{}}, ids...)
		}
		if err == nil && len(ids) > 0 {
			var n int64
			n, err = b.forget(ctx, ids)
			deleted += n
			last = slices.Clone(ids[len(ids)-1])
		}
		if err != nil {
			return deleted, failed("sweep", err)
		}
		if len(ids) < rowsAtOnce {
			return deleted, nil
		}
	}
}

func (b *Bucket) fullBuckets(ctx context.Context, after []byte) (ids [][]byte, err error) {
	rows, err := b.db.QueryContext(ctx, b.sql.full, b.name, after, int64(fullFor), rowsAtOnce)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

func scanIDs(rows *sql.Rows) (ids [][]byte, err error) {
	defer rows.Close()
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// forget deletes buckets, but for those that somebody has used meanwhile.
func (b *Bucket) forget(ctx context.Context, ids [][]byte) (int64, error) {
	args := []any{b.name, int64(fullFor)}
	for _, id := range ids {
		args = append(args, id)
	}
	result, err := b.db.ExecContext(ctx, b.dialect.bind(b.sql.forget+repeated("?", len(ids))+")"), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
