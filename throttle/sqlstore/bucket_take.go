package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// maxAttempts is how often a bucket is asked while others change it between two looks at it.
const maxAttempts = 100

var errContended = errors.New("the bucket changes whenever it is looked at")

// Take implements [bucketstore.Store]. The statement grants just as [bucketstore.Level.Take] would, and tells on which level and when, from which the
// same func says what to answer.
func (b *Bucket) Take(ctx context.Context, r bucketstore.Request) (bucket.Decision, error) {
	b.sweeper.startIfDue(b.sweepFrom)
	a := newTakeRequest(b.name, r)
	if a.most == 0 {
		level, now, err := b.level(ctx, a)
		if err != nil {
			return bucket.Decision{}, failed("take", err)
		}
		_, d := level.Take(r.Limit, now, r.Min, r.Max)
		return b.roundedUp(d), nil
	}
	try := b.takeRow
	if b.dialect == MySQL {
		try = b.takeMySQL
	}
	for range maxAttempts {
		d, sure, err := try(ctx, a)
		if err != nil {
			return bucket.Decision{}, failed("take", err)
		}
		if sure {
			return b.roundedUp(d), nil
		}
	}
	return bucket.Decision{}, failed("take", errContended)
}

// roundedUp has a RetryAfter of whole steps of the database's clock: who waits for less may find it a step short of what was told.
func (b *Bucket) roundedUp(d bucket.Decision) bucket.Decision {
	step := time.Microsecond
	if b.dialect == SQLite {
		step = time.Millisecond
	}
	d.RetryAfter = (d.RetryAfter + step - 1).Truncate(step)
	return d
}

// takeRequest is a request as the statements need it.
type takeRequest struct {
	bucketstore.Request

	name, id        []byte
	need, most      int64 // what a statement grants: at least one token, at most a full bucket
	interval, burst int64
}

func newTakeRequest(name []byte, r bucketstore.Request) takeRequest {
	a := takeRequest{Request: r, name: name, id: bucketID(r.Key), need: max(1, r.Min), most: min(r.Max, r.Limit.Capacity)}
	if r.Limit.Algorithm != bucket.Fixed {
		a.interval = int64(r.Limit.Interval())
		a.burst = r.Limit.Capacity * a.interval
	}
	return a
}

// maxAhead is how far ahead the time can be at which a bucket is full, with tokens enough in it.
func (a takeRequest) maxAhead() int64 { return a.burst - a.need*a.interval }

// maxUsed is how much can be used of a Fixed bucket, with tokens enough left in it.
func (a takeRequest) maxUsed() int64 { return a.Limit.Capacity - a.need }

// args are those of the statement that inserts, or updates and returns.
func (a takeRequest) args(d Dialect) []any {
	var args []any
	if d == PostgreSQL {
		args = append(args, a.name, a.id) // of what it looks at before
	}
	if a.Limit.Algorithm == bucket.Fixed {
		period, capacity := int64(a.Limit.Period), a.Limit.Capacity
		args = append(args, a.name, a.id, period, a.most, period, a.most)
		if d == PostgreSQL {
			args = append(args, period, period, a.maxUsed())
		}
		return append(args, capacity, capacity, a.maxUsed())
	}
	args = append(args, a.name, a.id, a.most*a.interval, a.most)
	if d == PostgreSQL {
		args = append(args, a.maxAhead())
	}
	return append(args, a.burst, a.interval, a.interval, a.burst, a.interval, a.maxAhead())
}

// takeRow takes in a statement that returns what it has found. It is not sure of what it found when nothing was granted, if that would have
// been enough: others were quicker.
func (b *Bucket) takeRow(ctx context.Context, a takeRequest) (d bucket.Decision, sure bool, err error) {
	query := b.sql.take
	if a.Limit.Algorithm == bucket.Fixed {
		query = b.sql.takeFixed
	}
	level, now, granted, err := b.grant(ctx, query, a)
	if errors.Is(err, sql.ErrNoRows) { // on SQLite, nothing was granted
		level, now, err = b.level(ctx, a)
	}
	if err != nil {
		return d, false, err
	}
	if granted > 0 { // before which it was
		level.At -= granted * a.interval
		level.Used = max(0, level.Used-granted)
	}
	next, d := level.Take(a.Limit, now, a.Min, a.Max)
	if !d.Allowed && next != level {
		err = b.clamp(ctx, a, level)
	}
	return d, d.Granted == granted, err
}

// clamp brings a level back that was found further ahead than that of an empty bucket, by the clock or by a slower limit, unless it has changed
// meanwhile. No statement that takes does it, because they write nothing when they grant nothing. The time is asked for once more: that
// of the statement that found the level may be before the one at which somebody else wrote it, and would make tokens of the difference.
func (b *Bucket) clamp(ctx context.Context, a takeRequest, found bucketstore.Level) error {
	_, now, err := b.level(ctx, a)
	if err != nil {
		return err
	}
	next, d := found.Take(a.Limit, now, a.Min, a.Max)
	if d.Allowed || next == found {
		return nil
	}
	keep := int64(0)
	if a.Limit.Algorithm == bucket.Fixed {
		keep = int64(a.Limit.Period)
	}
	_, err = b.change(ctx, b.sql.clamp, next.At, next.Used, keep, a.name, a.id, found.At, found.Used)
	return err
}

// grant runs a statement that grants, and returns what is after it.
func (b *Bucket) grant(ctx context.Context, query string, a takeRequest) (level bucketstore.Level, now, granted int64, err error) {
	var row [4]int64
	err = b.ask(ctx, func(ctx context.Context, db querier) error {
		return db.QueryRowContext(ctx, query, a.args(b.dialect)...).Scan(&row[0], &row[1], &row[2], &row[3])
	})
	if err != nil {
		return bucketstore.Level{}, 0, 0, err
	}
	return bucketstore.Level{At: row[1], Used: row[2]}, row[0], row[3], nil
}

// takeMySQL takes in a statement that returns a number. A Fixed bucket is looked at before, to know the time.
func (b *Bucket) takeMySQL(ctx context.Context, a takeRequest) (d bucket.Decision, sure bool, err error) {
	if a.Limit.Algorithm == bucket.Fixed {
		return b.takeFixedMySQL(ctx, a)
	}
	told, err := b.told(ctx, b.sql.take, a.name, a.id, a.most*a.interval, a.maxAhead(), a.maxAhead(), a.maxAhead(), a.interval, a.most, a.burst, a.interval)
	if err != nil {
		return d, false, err
	}
	// When it was does not matter to a Continuous bucket, only how long before it was full.
	found := bucketstore.Level{At: told - 1}
	next, d := found.Take(a.Limit, 0, a.Min, a.Max)
	if d.Allowed || next == found {
		return d, true, nil
	}
	level, _, err := b.level(ctx, a) // it is too far ahead, and must be known exactly to be brought back
	if err != nil {
		return d, false, err
	}
	return d, true, b.clamp(ctx, a, level)
}

func (b *Bucket) takeFixedMySQL(ctx context.Context, a takeRequest) (d bucket.Decision, sure bool, err error) {
	level, now, err := b.level(ctx, a)
	if err != nil {
		return d, false, err
	}
	next, d := level.Take(a.Limit, now, a.Min, a.Max)
	if d.Granted == 0 {
		if next != level && !d.Allowed {
			err = b.clamp(ctx, a, level)
		}
		return d, true, err
	}
	period := int64(a.Limit.Period)
	start := now - now%period
	told, err := b.told(ctx, b.sql.takeFixed, a.name, a.id, next.At, a.most, period,
		start, a.maxUsed(), start, a.maxUsed(), start, a.Limit.Capacity, start)
	if err != nil || told == 0 {
		return d, false, err
	}
	if told == 1 && level.Used > 0 { // it was reset since: full as it is, its period begins now, even if the one found began after the clock was read
		now = max(now, next.At)
	}
	_, d = bucketstore.Level{At: next.At, Used: told - 1}.Take(a.Limit, now, a.Min, a.Max)
	return d, true, nil
}

// told runs a statement, and returns the number that it tells.
func (b *Bucket) told(ctx context.Context, query string, args ...any) (told int64, err error) {
	err = b.ask(ctx, func(ctx context.Context, db querier) error {
		result, err := db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		told, err = result.LastInsertId()
		return err
	})
	return told, err
}

// level reads a bucket's level, and the time.
func (b *Bucket) level(ctx context.Context, a takeRequest) (level bucketstore.Level, now int64, err error) {
	var at, used sql.NullInt64
	var t int64
	err = b.ask(ctx, func(ctx context.Context, db querier) error {
		return db.QueryRowContext(ctx, b.sql.level, a.name, a.id).Scan(&t, &at, &used)
	})
	if err != nil {
		return bucketstore.Level{}, 0, err
	}
	return bucketstore.Level{At: at.Int64, Used: used.Int64}, t, nil
}
