package dispatch

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// How an attempt can end.
const (
	delivered = "delivered"
	failed    = "failed"
)

// rowsPerStatement is how many attempts are written at once.
const rowsPerStatement = 100

// Attempt is a row of the table: one attempt to deliver.
type Attempt struct {
	Key    breaker.Key
	Agent  string
	Failed bool
	Ended  time.Time
}

// Deliveries is one agent's access to the table of deliveries, which a dispatcher has anyway. The leader's breaker counts what lies in it.
type Deliveries struct {
	db      *sql.DB
	dialect sqlstore.Dialect
	table   string
	poller  *sqlstore.Poller
}

func newDeliveries(db *sql.DB, d sqlstore.Dialect, prefix string) (*Deliveries, error) {
	table := prefix + "deliveries"
	poller, err := sqlstore.NewPoller(db, d, sqlstore.PollerConfig{
		Table: table, TenantColumn: "tenant", KeyColumn: "endpoint", TimeColumn: "ended_ms", TimeType: sqlstore.UnixMillis,
		StatusColumn: "status", Failed: []any{failed}, Succeeded: []any{delivered}, ReporterColumn: "agent",
	})
	return &Deliveries{db: db, dialect: d, table: table, poller: poller}, err
}

// create creates the table, and the index with which a poll need not read the table itself.
func (d *Deliveries) create(ctx context.Context) error {
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS " + d.table + " (ended_ms BIGINT NOT NULL, tenant TEXT NOT NULL, endpoint TEXT NOT NULL, " +
			"status TEXT NOT NULL, agent TEXT NOT NULL)",
		"CREATE INDEX IF NOT EXISTS " + d.table + "_breaker ON " + d.table + " (ended_ms, tenant, endpoint, status, agent)",
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("dispatch: %w", err)
		}
	}
	return nil
}

// now is the database's clock in milliseconds since 1970. It is what the poll goes by, so rows are stamped with it too.
func (d *Deliveries) now() string {
	if d.dialect == sqlstore.PostgreSQL {
		return "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)"
	}
	return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS BIGINT)"
}

// Write writes attempts down, each with the time at which it ended by the database's clock. It returns those that could not be written.
func (d *Deliveries) Write(ctx context.Context, attempts []Attempt) (left []Attempt, err error) {
	for len(attempts) > 0 {
		n := min(len(attempts), rowsPerStatement)
		if err := d.insert(ctx, attempts[:n]); err != nil {
			return attempts, fmt.Errorf("dispatch: deliveries: %w", err)
		}
		attempts = attempts[n:]
	}
	return nil, nil
}

func (d *Deliveries) insert(ctx context.Context, attempts []Attempt) error {
	var query strings.Builder
	query.WriteString("INSERT INTO " + d.table + " (ended_ms, tenant, endpoint, status, agent) VALUES ")
	args := make([]any, 0, 4*len(attempts))
	place := func(value string) string {
		args = append(args, value)
		if d.dialect == sqlstore.PostgreSQL {
			return "$" + strconv.Itoa(len(args))
		}
		return "?"
	}
	for i, a := range attempts {
		if i > 0 {
			query.WriteString(", ")
		}
		status := delivered
		if a.Failed {
			status = failed
		}
		fmt.Fprintf(&query, "(%s - %d, %s, %s, %s, %s)", d.now(), time.Since(a.Ended).Milliseconds(),
			place(a.Key.Tenant), place(a.Key.ID), place(status), place(a.Agent))
	}
	_, err := d.db.ExecContext(ctx, query.String(), args...)
	return err
}

// Poll is for a breaker's Config.
func (d *Deliveries) Poll(ctx context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	return d.poller.Poll(ctx, q)
}

// Forget deletes what is older than so much.
func (d *Deliveries) Forget(ctx context.Context, age time.Duration) error {
	_, err := d.db.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s WHERE ended_ms < %s - %d", d.table, d.now(), age.Milliseconds()))
	if err != nil {
		return fmt.Errorf("dispatch: deliveries: %w", err)
	}
	return nil
}
