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

// probeKey names a count of probes.
type probeKey struct {
	id         breakerstore.RecordID
	generation uint64
}

// pendingProbe is a request whose time is known.
type pendingProbe struct {
	probeKey
	index, budget, want int   // want is not above budget
	begins, ends        int64 // of the time that the budget is for
}

// Probe implements [breakerstore.Store]. It reads the database's clock, and then counts for all requests in one statement (on MySQL, three in
// one transaction). A budget is known by the time at which it begins, so a clock that was read a while ago counts where it belongs.
func (b *Breaker) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	if len(requests) == 0 {
		return nil, ctx.Err()
	}
	var now int64
	if err := b.db.QueryRowContext(ctx, b.sql.now).Scan(&now); err != nil {
		return nil, failed("probe", err)
	}
	grants := make([]breakerstore.ProbeGrant, len(requests))
	var asks []pendingProbe
	for i, r := range requests {
		ask, remaining, err := newPendingProbe(i, r, now)
		if err != nil {
			return nil, err
		}
		grants[i].Remaining = remaining
		if ask.want > 0 {
			asks = append(asks, ask)
		}
	}
	// Whoever locks several rows must do so in one order.
	slices.SortStableFunc(asks, func(x, y pendingProbe) int {
		return cmp.Or(slices.Compare(x.id[:], y.id[:]), cmp.Compare(x.generation, y.generation))
	})
	for len(asks) > 0 {
		var chunk []pendingProbe
		chunk, asks = distinct(asks)
		granted, err := b.count(ctx, chunk)
		if err != nil {
			return nil, failed("probe", err)
		}
		for _, a := range chunk {
			grants[a.index].Granted = granted[a.probeKey]
		}
	}
	return grants, nil
}

// newPendingProbe finds out which budget a request is for, and how long from now until the next one begins. It wants nothing if there is no
// budget yet.
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

// distinct takes from sorted requests those that one statement can serve: no two of them for one row.
func distinct(asks []pendingProbe) (chunk, rest []pendingProbe) {
	for i, a := range asks {
		if len(chunk) == rowsPerStatement {
			return chunk, append(rest, asks[i:]...)
		}
		if n := len(chunk); n > 0 && chunk[n-1].probeKey == a.probeKey {
			rest = append(rest, a)
		} else {
			chunk = append(chunk, a)
		}
	}
	return chunk, rest
}

// count takes from the budgets, and returns how much.
func (b *Breaker) count(ctx context.Context, asks []pendingProbe) (granted map[probeKey]int, err error) {
	if b.dialect != MySQL {
		query, args := b.probe(asks, b.sql.probeEnd, func(a pendingProbe) (used, granted int) { return a.want, a.want })
		if b.dialect == SQLite { // see Bucket.ask: an interrupted driver may keep the file's lock. It takes as long as busy_timeout at most
			ctx = context.WithoutCancel(ctx)
		}
		rows, err := b.db.QueryContext(ctx, query, args...)
		return scanCounts(rows, err)
	}
	err = b.inTransaction(ctx, func(tx *sql.Tx) error {
		query, args := b.probe(asks, b.sql.probeEnd, func(pendingProbe) (used, granted int) { return 0, 0 })
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
		args = []any{b.name}
		for _, a := range asks {
			args = append(args, a.id[:], int64(a.generation))
		}
		used, err := scanCounts(tx.QueryContext(ctx, b.sql.used+commaList("(?, ?)", len(asks))+")", args...))
		if err != nil {
			return err
		}
		granted = make(map[probeKey]int, len(asks))
		for _, a := range asks {
			granted[a.probeKey] = max(0, min(a.want, a.budget-used[a.probeKey]))
		}
		query, args = b.probe(asks, probeUseMySQL, func(a pendingProbe) (used, grant int) { return 0, granted[a.probeKey] })
		_, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return granted, err
}

// probe returns a statement that inserts a row for each, or does what end says to those that are there.
func (b *Breaker) probe(asks []pendingProbe, end string, counts func(pendingProbe) (used, granted int)) (string, []any) {
	args := make([]any, 0, 8*len(asks))
	for _, a := range asks {
		used, granted := counts(a)
		args = append(args, b.name, a.id[:], int64(a.generation), a.begins, a.ends, a.budget, used, granted)
	}
	return b.dialect.bind(b.sql.probe + commaList("(?, ?, ?, ?, ?, ?, ?, ?)", len(asks)) + end), args
}

func scanCounts(rows *sql.Rows, err error) (map[probeKey]int, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[probeKey]int{}
	for rows.Next() {
		var id []byte
		var generation int64
		var n int
		if err := rows.Scan(&id, &generation, &n); err != nil {
			return nil, err
		}
		key := probeKey{generation: uint64(generation)}
		copy(key.id[:], id)
		counts[key] = n
	}
	return counts, rows.Err()
}
