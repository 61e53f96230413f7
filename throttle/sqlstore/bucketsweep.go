package sqlstore

import (
	"context"
	"time"
)

// fullFor is how long a bucket must have been full before it is forgotten. A clock that steps back by less mints nothing.
const fullFor = time.Hour

// Sweep deletes the rows of buckets that have been full for an hour, which is as good as having them, and returns how many there were. It
// looks at all rows of the store, some hundreds at once, so that nobody waits for it. A store does so by itself, a little at a time: see
// BucketConfig.SweepEvery. Any number of processes may sweep at once.
func (b *Bucket) Sweep(ctx context.Context) (deleted int64, err error) {
	var p sweepPage
	for err == nil && !p.end {
		p, err = b.sweepAfter(ctx, p.last)
		deleted += p.deleted
	}
	return deleted, err
}

// sweepPage is what a step of a sweep has done.
type sweepPage struct {
	last    []byte // of the buckets that it looked at
	deleted int64
	end     bool // there are none after these
}

// sweepAfter looks at the next few buckets, and deletes those that are full. A nil id is before all others.
func (b *Bucket) sweepAfter(ctx context.Context, after []byte) (p sweepPage, err error) {
	ids := [][]byte{}
	if after == nil {
		after = []byte{}
		ids = append(ids, after) // the empty key is not after any other, so it is deleted by its name, if it is full
	}
	f, err := b.fullBuckets(ctx, after)
	if ids = append(ids, f.full...); err == nil && len(ids) > 0 {
		p.deleted, err = b.forget(ctx, ids)
	}
	if err != nil {
		return sweepPage{last: after}, failed("sweep", err)
	}
	p.last, p.end = f.last, f.n < rowsAtOnce
	return p, nil
}

// found are buckets that a sweep has looked at.
type found struct {
	full [][]byte // those that are
	n    int
	last []byte
}

// fullBuckets looks at the next few buckets.
func (b *Bucket) fullBuckets(ctx context.Context, after []byte) (found, error) {
	var f found
	err := b.ask(ctx, func(ctx context.Context, db asker) error {
		f = found{last: after}
		rows, err := db.QueryContext(ctx, b.sql.full, int64(fullFor), b.name, after, rowsAtOnce)
		if err != nil {
			return err
		}
		defer rows.Close()
		for ; rows.Next(); f.n++ {
			var full int
			var id []byte
			if err := rows.Scan(&id, &full); err != nil {
				return err
			}
			if f.last = id; full != 0 {
				f.full = append(f.full, id)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return found{}, err
	}
	return f, nil
}

// forget deletes buckets, but for those that somebody has used meanwhile.
func (b *Bucket) forget(ctx context.Context, ids [][]byte) (int64, error) {
	args := []any{b.name, int64(fullFor)}
	for _, id := range ids {
		args = append(args, id)
	}
	return b.change(ctx, b.dialect.bind(b.sql.forget+repeated("?", len(ids))+")"), args...)
}
