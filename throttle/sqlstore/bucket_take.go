package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// Take implements [bucketstore.Store]. The statement grants the same as [bucketstore.Level.Take] if
// the same limit has written the row. Its result contains the level and the time, from which
// Level.Take computes the decision, and the next level of any other row.
func (b *Bucket) Take(ctx context.Context, r bucketstore.Request) (bucket.Decision, error) {
	b.sweeper.startIfDue(b.sweepFrom)
	t := newTakeRequest(b.name, r)
	take := b.takeReturning
	switch {
	case t.most == 0:
		take = b.peek
	case b.dialect == MySQL && r.Limit.Algorithm == bucket.Fixed:
		take = b.takeFixedMySQL
	case b.dialect == MySQL:
		take = b.takeMySQL
	}
	var d bucket.Decision
	for range maxAttempts {
		next, final, err := take(ctx, t)
		if err != nil {
			return bucket.Decision{}, stepFailed("take", err)
		}
		if d = next; final {
			b.roundUp(&d)
			return d, nil
		}
	}
	// An error would make the limiter decide without the store, and grant more than the limit.
	return bucket.Decision{Allowed: r.Min == 0, Limit: d.Limit, RetryAfter: max(d.RetryAfter, time.Millisecond), ResetAfter: d.ResetAfter}, nil
}

// peek decides a request that takes nothing.
func (b *Bucket) peek(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	level, now, err := b.level(ctx, t)
	if err == nil {
		_, d = level.Take(t.Limit, now, t.Min, t.Max)
	}
	return d, true, err
}

// takeRequest is a request with the values that the statements need.
type takeRequest struct {
	bucketstore.Request

	name, id        []byte
	need, most      int64 // the least and the most that a statement grants: at least one token, at most a full bucket
	interval, burst int64 // of a Continuous bucket, in nanoseconds: per token, and for a full bucket
}

func newTakeRequest(name []byte, r bucketstore.Request) takeRequest {
	t := takeRequest{Request: r, name: name, id: bucketID(r.Key), need: max(1, r.Min), most: min(r.Max, r.Limit.Capacity)}
	if r.Limit.Algorithm != bucket.Fixed {
		t.interval = int64(r.Limit.Interval())
		t.burst = r.Limit.Capacity * t.interval
	}
	return t
}

// maxAhead is the longest time, in nanoseconds, until a Continuous bucket is full that has enough
// tokens.
func (t takeRequest) maxAhead() int64 { return t.burst - t.need*t.interval }

// maxUsed is the highest number of used tokens of a Fixed bucket that has enough tokens.
func (t takeRequest) maxUsed() int64 { return t.Limit.Capacity - t.need }

// args returns the arguments of a statement with RETURNING.
func (t takeRequest) args(d Dialect) []any {
	var args []any
	if d == PostgreSQL {
		args = append(args, t.name, t.id) // of currentSQL
	}
	if t.Limit.Algorithm == bucket.Fixed {
		period := int64(t.Limit.Period)
		args = append(args, t.name, t.id, period, t.most, period, t.Limit.Capacity, t.most)
		if d == PostgreSQL {
			args = append(args, period, period, period, t.maxUsed())
		}
		return append(args, t.maxUsed())
	}
	args = append(args, t.name, t.id, t.most*t.interval, t.interval, t.Limit.Capacity, t.most)
	if d == PostgreSQL {
		args = append(args, t.interval, t.maxAhead())
	}
	return append(args, t.burst, t.burst, t.maxAhead())
}

// takeReturning takes by a statement with RETURNING.
func (b *Bucket) takeReturning(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	query := b.sql.take
	if t.Limit.Algorithm == bucket.Fixed {
		query = b.sql.takeFixed
	}
	level, now, granted, err := b.grant(ctx, query, t)
	if errors.Is(err, sql.ErrNoRows) { // SQLite returns no row if it grants nothing
		level, now, err = b.level(ctx, t)
	}
	if err != nil {
		return d, false, err
	}
	if granted == 0 {
		return b.swap(ctx, t, level, now)
	}
	d, final = t.decided(level, now, granted)
	return d, final, nil
}

// decided returns the decision of a statement with RETURNING. It is final unless another level must be
// written.
func (t takeRequest) decided(level bucketstore.Level, now, granted int64) (d bucket.Decision, final bool) {
	level.At -= granted * t.interval // compute the level before the grant
	level.Used = max(0, level.Used-granted)
	next, d := level.Take(t.Limit, now, t.Min, t.Max)
	return d, d.Granted == granted && (granted > 0 || next == level)
}

// swap takes of a level that was read, and writes the next level if the row has not changed since.
// The decision is final if nothing changes, or if swap has written the level.
func (b *Bucket) swap(ctx context.Context, t takeRequest, found bucketstore.Level, now int64) (d bucket.Decision, final bool, err error) {
	next, d := found.Take(t.Limit, now, t.Min, t.Max)
	if next == found {
		return d, true, nil
	}
	args := append(levelArgs(next), t.name, t.id)
	changed, err := b.exec(ctx, sql.Result.RowsAffected, b.sql.swap, append(args, levelArgs(found)...)...)
	return d, changed > 0, err
}

func levelArgs(v bucketstore.Level) []any {
	until, other := int64(0), ""
	if o := v.Other; o != (bucketstore.Other{}) {
		until = max(1, bucketstore.Level{Other: o}.FullAt())
		other = fmt.Sprint(o.At, o.Used, o.Interval, o.Period, o.Capacity)
	}
	return []any{v.At, v.Used, v.Interval, v.Period, v.Capacity, until, other}
}

// levelRow is a row with a bucket's level, and the time. The columns of the level are NULL if there
// is no row.
type levelRow struct {
	now, granted int64
	n            [6]sql.NullInt64
	other        sql.NullString
}

// targets returns where the columns of a level are read, after some first columns.
func (r *levelRow) targets(first ...any) []any {
	for i := range r.n {
		first = append(first, &r.n[i])
	}
	return append(first, &r.other)
}

func (r *levelRow) level() bucketstore.Level {
	n := &r.n
	v := bucketstore.Level{At: n[0].Int64, Used: n[1].Int64, Interval: n[2].Int64, Period: n[3].Int64, Capacity: n[4].Int64}
	if o := &v.Other; r.other.String != "" {
		if _, err := fmt.Sscan(r.other.String, &o.At, &o.Used, &o.Interval, &o.Period, &o.Capacity); err != nil {
			v.Other = bucketstore.Other{}
		}
	}
	return v
}

// grant runs a statement with RETURNING. It returns the level after the grant.
func (b *Bucket) grant(ctx context.Context, query string, t takeRequest) (level bucketstore.Level, now, granted int64, err error) {
	row, err := run(ctx, b, func(ctx context.Context, db querier) (row levelRow, err error) {
		err = db.QueryRowContext(ctx, query, t.args(b.dialect)...).Scan(row.targets(&row.now, &row.granted)...)
		return row, err
	})
	return row.level(), row.now, row.granted, err
}

// takeMySQL takes by a statement that returns one number: see takeMySQL in bucket_sql.go.
func (b *Bucket) takeMySQL(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	result, err := b.exec(ctx, sql.Result.LastInsertId, b.sql.take,
		t.name, t.id, t.most*t.interval, t.interval, t.Limit.Capacity, t.maxAhead(), t.most, t.burst)
	if err != nil {
		return d, false, err
	}
	// The decision of a Continuous bucket depends only on the time until it is full, so now can be
	// 0.
	found := bucketstore.Level{At: result - 1, Interval: t.interval, Capacity: t.Limit.Capacity}
	next, d := found.Take(t.Limit, 0, t.Min, t.Max)
	if result > 0 && (d.Granted > 0 || next == found) {
		return d, true, nil
	}
	level, now, err := b.level(ctx, t)
	if err != nil {
		return d, false, err
	}
	return b.swap(ctx, t, level, now)
}

// takeFixedMySQL first reads the level and the time, because the statement needs the period.
func (b *Bucket) takeFixedMySQL(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	level, now, err := b.level(ctx, t)
	if err != nil {
		return d, false, err
	}
	period := int64(t.Limit.Period)
	next, d := level.Take(t.Limit, now, t.Min, t.Max)
	own := level.Period == period && level.Capacity == t.Limit.Capacity && level.Other == (bucketstore.Other{}) && level.Used <= level.Capacity
	if d.Granted == 0 || !own && level != (bucketstore.Level{}) {
		return b.swap(ctx, t, level, now)
	}
	start := now - now%period
	result, err := b.exec(ctx, sql.Result.LastInsertId, b.sql.takeFixed,
		t.name, t.id, next.At, t.most, period, t.Limit.Capacity, start, t.maxUsed(), start, start)
	if err != nil || result == 0 {
		return d, false, err
	}
	if result == 1 && level.Used > 0 {
		// The bucket was reset since, so it was full. Its period begins now, even if the level that
		// was read began after the clock was read.
		now = max(now, next.At)
	}
	_, d = bucketstore.Level{At: next.At, Used: result - 1}.Take(t.Limit, now, t.Min, t.Max)
	return d, true, nil
}

func (b *Bucket) level(ctx context.Context, t takeRequest) (level bucketstore.Level, now int64, err error) {
	row, err := run(ctx, b, func(ctx context.Context, db querier) (row levelRow, err error) {
		begun := time.Now()
		err = db.QueryRowContext(ctx, b.sql.level, t.name, t.id).Scan(row.targets(&row.now)...)
		// The time is that of the statement's begin, and another one may have written the row since.
		ahead := t.Limit.Algorithm == bucket.Fixed && err == nil && row.level().At > row.now
		if err == nil && (b.isOld(begun) || ahead) {
			err = db.QueryRowContext(ctx, b.sql.clock).Scan(&row.now)
		}
		return row, err
	})
	return row.level(), row.now, err
}
