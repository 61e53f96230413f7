package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

type probeKey struct {
	id         breakerstore.RecordID
	generation uint64
}

// pendingProbe is a request with the period that it belongs to.
type pendingProbe struct {
	probeKey
	index, budget, want int   // index of the request; want is at most budget
	begins, ends        int64 // the period of the budget
}

// Probe implements [breakerstore.Store]. It reads the database's clock, and then takes from the
// budgets of all requests in one statement (on MySQL, three in one transaction). Each request names
// its period by the start. If another manager has begun a later period since, the request takes
// from that one.
func (b *Breaker) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	if len(requests) == 0 {
		return nil, ctx.Err()
	}
	var now int64
	if err := b.db.QueryRowContext(ctx, b.sql.now).Scan(&now); err != nil {
		return nil, stepFailed("probe", err)
	}
	grants := make([]breakerstore.ProbeGrant, len(requests))
	var pending []pendingProbe
	for i, r := range requests {
		p, remaining, err := newPendingProbe(i, r, now)
		if err != nil {
			return nil, err
		}
		grants[i].Remaining = remaining
		if p.want > 0 {
			pending = append(pending, p)
		}
	}
	// All managers lock rows in the same order, so they cannot deadlock.
	slices.SortStableFunc(pending, func(x, y pendingProbe) int {
		return cmp.Or(slices.Compare(x.id[:], y.id[:]), cmp.Compare(x.generation, y.generation))
	})
	for len(pending) > 0 {
		var chunk []pendingProbe
		chunk, pending = distinct(pending)
		granted, err := b.takeProbes(ctx, chunk)
		if err != nil {
			return nil, stepFailed("probe", err)
		}
		for _, p := range chunk {
			grants[p.index].Granted = granted[p.probeKey]
		}
	}
	return grants, nil
}

// newPendingProbe returns the period of a request, and the time until the next period begins. If
// the first period has not begun yet, the result's want is 0.
func newPendingProbe(i int, r breakerstore.ProbeRequest, now int64) (pendingProbe, time.Duration, error) {
	every := r.Every.Microseconds()
	if every <= 0 {
		return pendingProbe{}, 0, fmt.Errorf("sqlstore: probe: Every is %v: want at least 1 µs", r.Every)
	}
	since := r.Since.UnixMicro()
	if now < since {
		return pendingProbe{}, time.Duration(since-now) * time.Microsecond, nil
	}
	begins := since + (now-since)/every*every
	return pendingProbe{
		probeKey: probeKey{r.ID, r.Generation}, index: i, budget: r.Budget, want: min(r.Want, r.Budget),
		begins: begins, ends: begins + every,
	}, time.Duration(begins+every-now) * time.Microsecond, nil
}

// distinct splits sorted requests into a chunk for one statement, without two requests for one row,
// and the rest.
func distinct(pending []pendingProbe) (chunk, rest []pendingProbe) {
	for i, p := range pending {
		if len(chunk) == rowsPerStatement {
			return chunk, append(rest, pending[i:]...)
		}
		if n := len(chunk); n > 0 && chunk[n-1].probeKey == p.probeKey {
			rest = append(rest, p)
		} else {
			chunk = append(chunk, p)
		}
	}
	return chunk, rest
}

// takeProbes takes from the budgets, and returns the number granted for each.
func (b *Breaker) takeProbes(ctx context.Context, pending []pendingProbe) (granted map[probeKey]int, err error) {
	n := len(pending)
	if b.dialect != MySQL {
		args := b.probeArgs(pending, func(p pendingProbe) (used, granted int) { return p.want, p.want })
		if b.dialect != SQLite {
			return counts(ctx, b.db, b.sql.probe.of(n), args)
		}
		conn, err := b.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		// An interrupted driver may keep the file locked: see Bucket.run. The statement waits for the
		// lock for busy_timeout at most.
		return counts(context.WithoutCancel(ctx), conn, b.sql.probe.of(n), args)
	}
	err = inTransaction(ctx, b.db, b.dialect, func(tx *sql.Tx) error {
		none := b.probeArgs(pending, func(pendingProbe) (used, granted int) { return 0, 0 })
		if _, err := tx.ExecContext(ctx, b.sql.probe.of(n), none...); err != nil {
			return err
		}
		args := []any{b.name}
		for _, p := range pending {
			args = append(args, p.id[:], int64(p.generation))
		}
		used, err := counts(ctx, tx, b.sql.used.of(n), args)
		if err != nil {
			return err
		}
		granted = make(map[probeKey]int, n)
		for _, p := range pending {
			granted[p.probeKey] = max(0, min(p.want, p.budget-used[p.probeKey]))
		}
		args = b.probeArgs(pending, func(p pendingProbe) (used, grant int) { return 0, granted[p.probeKey] })
		_, err = tx.ExecContext(ctx, b.sql.probeUse.of(n), args...)
		return err
	})
	return granted, err
}

// probeArgs returns the arguments of a statement that inserts a row for each request.
func (b *Breaker) probeArgs(pending []pendingProbe, count func(pendingProbe) (used, granted int)) []any {
	args := make([]any, 0, 8*len(pending))
	for _, p := range pending {
		used, granted := count(p)
		args = append(args, b.name, p.id[:], int64(p.generation), p.begins, p.ends, p.budget, used, granted)
	}
	return args
}

// counts runs a query that returns a number for each probe.
func counts(ctx context.Context, db rowsQuerier, query string, args []any) (map[probeKey]int, error) {
	all := map[probeKey]int{}
	err := eachRow(ctx, db, query, args, func(rows *sql.Rows) error {
		var id []byte
		var generation int64
		var n int
		if err := rows.Scan(&id, &generation, &n); err != nil {
			return err
		}
		key := probeKey{generation: uint64(generation)}
		copy(key.id[:], id)
		all[key] = n
		return nil
	})
	return all, err
}
