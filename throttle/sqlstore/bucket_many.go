package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

var (
	_ bucketstore.ManyTaker = (*Bucket)(nil)
	_ bucketstore.Bounded   = (*Bucket)(nil)
)

// errRowInserted means that another transaction has inserted a row which was missing when it was locked.
var errRowInserted = errors.New("another request has inserted the row")

// TakeMany implements [bucketstore.ManyTaker]. It is one transaction. It locks the rows of all buckets, in
// the order of their IDs, so that two transactions do not wait for each other's rows. On PostgreSQL, one
// statement takes from most Continuous buckets before, because a transaction keeps its locks for several
// round trips.
func (b *Bucket) TakeMany(ctx context.Context, rs []bucketstore.Request) []bucketstore.Answer {
	b.sweeper.startIfDue(b.sweepFrom)
	answers, open := make([]bucketstore.Answer, len(rs)), make([]int, len(rs))
	for i := range open {
		open[i] = i
	}
	if b.dialect == PostgreSQL {
		open = b.takeSome(ctx, rs, answers)
	}
	if len(open) > 0 {
		b.takeRest(ctx, rs, answers, open)
	}
	return answers
}

// takeRest decides the open requests in a transaction.
func (b *Bucket) takeRest(ctx context.Context, rs []bucketstore.Request, answers []bucketstore.Answer, open []int) {
	rest := make([]bucketstore.Request, len(open))
	for n, i := range open {
		rest[n] = rs[i]
	}
	decisions, err := run(ctx, b, func(ctx context.Context, db querier) (ds []bucket.Decision, err error) {
		err = inTransaction(ctx, db, b.dialect, func(tx *sql.Tx) error {
			ds, err = b.takeMany(ctx, tx, rest)
			return err
		})
		return ds, err
	})
	for n, i := range open {
		if err != nil {
			answers[i].Err = stepFailed("take", err)
		} else {
			answers[i].Decision = decisions[n]
		}
	}
}

// MaxCalls implements [bucketstore.Bounded]. It is the number of connections that the pool may have. On
// SQLite it is one: two writers wait for each other, and do not notice at once when the file is free.
func (b *Bucket) MaxCalls() int {
	if b.dialect == SQLite {
		return 1
	}
	return b.connections.size()
}

// lockedRow is the row of a bucket in a transaction.
type lockedRow struct {
	found, next bucketstore.Level
	exists      bool
}

// takeMany decides requests in their order, and writes the levels that have changed.
func (b *Bucket) takeMany(ctx context.Context, tx *sql.Tx, rs []bucketstore.Request) ([]bucket.Decision, error) {
	ids := make([][]byte, len(rs))
	rows := make(map[string]*lockedRow, len(rs))
	for i, r := range rs {
		ids[i] = bucketID(r.Key)
		rows[string(ids[i])] = &lockedRow{}
	}
	sorted := slices.CompactFunc(slices.SortedFunc(slices.Values(ids), bytes.Compare), bytes.Equal)
	now, err := b.lock(ctx, tx, sorted, rows)
	if err != nil {
		return nil, err
	}
	decisions := make([]bucket.Decision, len(rs))
	for i, r := range rs {
		row, d := rows[string(ids[i])], &decisions[i]
		row.next, *d = row.next.Take(r.Limit, now, r.Min, r.Max)
		b.roundUp(d)
	}
	return decisions, b.write(ctx, tx, sorted, rows)
}

// lock locks the rows with these IDs, reads their levels, and returns the time.
func (b *Bucket) lock(ctx context.Context, tx *sql.Tx, ids [][]byte, rows map[string]*lockedRow) (now int64, err error) {
	if b.dialect == SQLite { // a write locks the file, so that no other process writes after the SELECT
		if _, err := tx.ExecContext(ctx, b.sql.lockAll); err != nil {
			return 0, err
		}
	}
	list := make([][]any, len(ids))
	for i, id := range ids {
		list[i] = []any{id}
	}
	begun := time.Now()
	args := append([]any{b.name}, b.sql.lock.args(list)...)
	err = eachRow(ctx, tx, b.sql.lock.of(len(ids)), args, func(found *sql.Rows) error {
		var id []byte
		var r levelRow
		if err := found.Scan(r.targets(&id, &r.now)...); err != nil {
			return err
		}
		level := r.level()
		*rows[string(id)] = lockedRow{level, level, true}
		now = max(now, r.now)
		return nil
	})
	if err != nil || now > 0 && !b.isOld(begun) {
		return now, err
	}
	err = tx.QueryRowContext(ctx, b.sql.clock).Scan(&now)
	return now, err
}

// isOld reports whether the time that a statement has returned may be much older than the level that it has read. On
// MySQL, it is the time at which the statement began, before it waited for rows. Level.Take would take that for a clock
// that has stepped back, and add the tokens of the wait again.
func (b *Bucket) isOld(begun time.Time) bool { return b.dialect == MySQL && time.Since(begun) > maxAge }

func (b *Bucket) write(ctx context.Context, tx *sql.Tx, ids [][]byte, rows map[string]*lockedRow) error {
	var update, insert [][]any
	for _, id := range ids {
		switch row := rows[string(id)]; {
		case row.next == row.found:
		case row.exists:
			update = append(update, append([]any{b.name, id}, levelArgs(row.next)...))
		default:
			insert = append(insert, append([]any{b.name, id}, levelArgs(row.next)...))
		}
	}
	if len(update) > 0 {
		if _, err := tx.ExecContext(ctx, b.sql.update.of(len(update)), b.sql.update.args(update)...); err != nil {
			return err
		}
	}
	if len(insert) == 0 {
		return nil
	}
	result, err := tx.ExecContext(ctx, b.sql.insert.of(len(insert)), b.sql.insert.args(insert)...)
	if err != nil {
		return err
	}
	if inserted, err := result.RowsAffected(); err != nil || inserted != int64(len(insert)) {
		return errors.Join(errRowInserted, err)
	}
	return nil
}

// roundUp rounds RetryAfter up to whole ticks of the database's clock. After a shorter wait the
// clock may still be before the time of the next token.
func (b *Bucket) roundUp(d *bucket.Decision) {
	tick := time.Microsecond
	if b.dialect == SQLite {
		tick = time.Millisecond
	}
	d.RetryAfter = (d.RetryAfter + tick - 1).Truncate(tick)
}

// takeSome decides requests by one statement of PostgreSQL, and returns the open ones: those that it cannot
// make, or whose row another limit has written.
func (b *Bucket) takeSome(ctx context.Context, rs []bucketstore.Request, answers []bucketstore.Answer) (open []int) {
	sent, args := make(map[string]int, len(rs)), make([][]any, 0, len(rs))
	requests := make([]takeRequest, len(rs))
	for i, r := range rs {
		t := newTakeRequest(b.name, r)
		requests[i] = t
		if _, twice := sent[string(t.id)]; twice || r.Limit.Algorithm != bucket.Continuous || t.most == 0 || t.need > 1 {
			open = append(open, i)
			continue
		}
		sent[string(t.id)] = i
		args = append(args, []any{b.name, t.id, t.most, t.interval, r.Limit.Capacity})
	}
	if len(args) == 0 {
		return open
	}
	rows, err := run(ctx, b, func(ctx context.Context, db querier) ([]takenRow, error) { return b.queryTaken(ctx, db, args) })
	if err != nil {
		for _, i := range sent {
			answers[i].Err = stepFailed("take", err)
		}
		return open
	}
	for _, row := range rows {
		i := sent[string(row.id)]
		d, final := requests[i].decided(row.level(), row.now, row.granted)
		if !final {
			open = append(open, i)
			continue
		}
		b.roundUp(&d)
		answers[i].Decision = d
	}
	slices.Sort(open) // two requests about one bucket are decided in their order
	return open
}

// takenRow is a row of the result.
type takenRow struct {
	levelRow

	id []byte
}

func (b *Bucket) queryTaken(ctx context.Context, db querier, args [][]any) ([]takenRow, error) {
	rows := make([]takenRow, 0, len(args))
	err := eachRow(ctx, db, b.sql.takeSome.of(len(args)), b.sql.takeSome.args(args), func(result *sql.Rows) error {
		var row takenRow
		err := result.Scan(row.targets(&row.id, &row.now, &row.granted)...)
		rows = append(rows, row)
		return err
	})
	return rows, err
}
