package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

var errContended = errors.New("other requests change the bucket too often")

// Take implements [bucketstore.Store]. The statement grants the same as [bucketstore.Level.Take].
// Its result contains the level and the time, from which Level.Take computes the decision.
func (b *Bucket) Take(ctx context.Context, r bucketstore.Request) (bucket.Decision, error) {
	b.sweeper.startIfDue(b.sweepFrom)
	t := newTakeRequest(b.name, r)
	if t.most == 0 {
		level, now, err := b.level(ctx, t)
		if err != nil {
			return bucket.Decision{}, stepFailed("take", err)
		}
		_, d := level.Take(r.Limit, now, r.Min, r.Max)
		return b.roundUp(d), nil
	}
	take := b.takeReturning
	if b.dialect == MySQL {
		take = b.takeMySQL
	}
	for range maxAttempts {
		d, final, err := take(ctx, t)
		if err != nil {
			return bucket.Decision{}, stepFailed("take", err)
		}
		if final {
			return b.roundUp(d), nil
		}
	}
	return bucket.Decision{}, stepFailed("take", errContended)
}

// roundUp rounds RetryAfter up to whole ticks of the database's clock. After a shorter wait the
// clock may still be before the time of the next token.
func (b *Bucket) roundUp(d bucket.Decision) bucket.Decision {
	tick := time.Microsecond
	if b.dialect == SQLite {
		tick = time.Millisecond
	}
	d.RetryAfter = (d.RetryAfter + tick - 1).Truncate(tick)
	return d
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
		period, capacity := int64(t.Limit.Period), t.Limit.Capacity
		args = append(args, t.name, t.id, period, t.most, period, t.most)
		if d == PostgreSQL {
			args = append(args, period, period, t.maxUsed())
		}
		return append(args, capacity, capacity, t.maxUsed())
	}
	args = append(args, t.name, t.id, t.most*t.interval, t.most)
	if d == PostgreSQL {
		args = append(args, t.maxAhead())
	}
	return append(args, t.burst, t.interval, t.interval, t.burst, t.interval, t.maxAhead())
}

// takeReturning takes by a statement with RETURNING. The decision is not final if the statement
// granted nothing although the level in its result has enough tokens. Then another request has
// changed the bucket while the statement ran.
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
	if granted > 0 { // compute the level before the grant
		level.At -= granted * t.interval
		level.Used = max(0, level.Used-granted)
	}
	next, d := level.Take(t.Limit, now, t.Min, t.Max)
	if !d.Allowed && next != level {
		err = b.clamp(ctx, t, level)
	}
	return d, d.Granted == granted, err
}

// clamp sets a level that is further ahead than that of an empty bucket to that of an empty bucket,
// unless the row has changed. The clock or a slower limit may have caused it. The statements that
// take do not change the row if they grant nothing.
//
// clamp reads the time again. The statement that found the level may have read the time before
// another request wrote the level. Then the difference would become tokens.
func (b *Bucket) clamp(ctx context.Context, t takeRequest, found bucketstore.Level) error {
	_, now, err := b.level(ctx, t)
	if err != nil {
		return err
	}
	next, d := found.Take(t.Limit, now, t.Min, t.Max)
	if d.Allowed || next == found {
		return nil
	}
	keep := int64(0)
	if t.Limit.Algorithm == bucket.Fixed {
		keep = int64(t.Limit.Period)
	}
	_, err = b.exec(ctx, b.sql.clamp, next.At, next.Used, keep, t.name, t.id, found.At, found.Used)
	return err
}

// grant runs a statement with RETURNING. It returns the level after the grant.
func (b *Bucket) grant(ctx context.Context, query string, t takeRequest) (level bucketstore.Level, now, granted int64, err error) {
	var row [4]int64
	err = b.run(ctx, func(ctx context.Context, db querier) error {
		return db.QueryRowContext(ctx, query, t.args(b.dialect)...).Scan(&row[0], &row[1], &row[2], &row[3])
	})
	if err != nil {
		return bucketstore.Level{}, 0, 0, err
	}
	return bucketstore.Level{At: row[1], Used: row[2]}, row[0], row[3], nil
}

// takeMySQL takes by a statement that returns one number: see takeMySQL in bucket_sql.go.
func (b *Bucket) takeMySQL(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	if t.Limit.Algorithm == bucket.Fixed {
		return b.takeFixedMySQL(ctx, t)
	}
	ahead := t.maxAhead()
	result, err := b.lastInsertID(ctx, b.sql.take, t.name, t.id, t.most*t.interval, ahead, ahead, ahead, t.interval, t.most, t.burst, t.interval)
	if err != nil {
		return d, false, err
	}
	// The decision of a Continuous bucket depends only on the time until it is full, so now can be
	// 0.
	found := bucketstore.Level{At: result - 1}
	next, d := found.Take(t.Limit, 0, t.Min, t.Max)
	if d.Allowed || next == found {
		return d, true, nil
	}
	level, _, err := b.level(ctx, t) // clamp needs the exact level
	if err != nil {
		return d, false, err
	}
	return d, true, b.clamp(ctx, t, level)
}

// takeFixedMySQL first reads the level and the time, because the statement needs the period.
func (b *Bucket) takeFixedMySQL(ctx context.Context, t takeRequest) (d bucket.Decision, final bool, err error) {
	level, now, err := b.level(ctx, t)
	if err != nil {
		return d, false, err
	}
	next, d := level.Take(t.Limit, now, t.Min, t.Max)
	if d.Granted == 0 {
		if next != level && !d.Allowed {
			err = b.clamp(ctx, t, level)
		}
		return d, true, err
	}
	period := int64(t.Limit.Period)
	start := now - now%period
	result, err := b.lastInsertID(ctx, b.sql.takeFixed, t.name, t.id, next.At, t.most, period,
		start, t.maxUsed(), start, t.maxUsed(), start, t.Limit.Capacity, start)
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

// lastInsertID runs a statement, and returns the number that it passes to LAST_INSERT_ID.
func (b *Bucket) lastInsertID(ctx context.Context, query string, args ...any) (id int64, err error) {
	err = b.run(ctx, func(ctx context.Context, db querier) error {
		result, err := db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		id, err = result.LastInsertId()
		return err
	})
	return id, err
}

// level reads a bucket's level and the time.
func (b *Bucket) level(ctx context.Context, t takeRequest) (level bucketstore.Level, now int64, err error) {
	var at, used sql.NullInt64
	var ns int64
	err = b.run(ctx, func(ctx context.Context, db querier) error {
		return db.QueryRowContext(ctx, b.sql.level, t.name, t.id).Scan(&ns, &at, &used)
	})
	if err != nil {
		return bucketstore.Level{}, 0, err
	}
	return bucketstore.Level{At: at.Int64, Used: used.Int64}, ns, nil
}
