package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// longestTable is what a table of the user's may be called.
const longestTable = maxIdentifier

// PollerConfig says where a table of deliveries, or of whatever else may fail, has what a breaker wants to know. Names are ASCII
// letters, digits and underscores, and reach the database in quotes: PostgreSQL wants them as they are written in its catalogue.
type PollerConfig struct {
	// Table is the table's name, which may begin with its schema and a dot. Required.
	Table string
	// TenantColumn has [breaker.Key.Tenant], as text, a number or a UUID. Default none: all tenants are "".
	TenantColumn string
	// KeyColumn has [breaker.Key.ID], as text, a number or a UUID. Rows where it is null are left out. Required.
	KeyColumn string
	// TimeColumn has the time at which the row was written, or the delivery ended. Required. Let the database fill it in: a clock
	// that is an hour ahead keeps its failures in sight for an hour too long.
	TimeColumn string
	// TimeType says how. Required.
	TimeType TimeType

	// StatusColumn has a value that says how the delivery ended.
	StatusColumn string
	// Failed are the values of StatusColumn, of the type that the driver wants, that say that it failed.
	Failed []any
	// Succeeded are those that say that it succeeded. Default all others but null.
	Succeeded []any
	// FailedIf is instead of StatusColumn: an SQL expression that is true if the delivery failed, false if not, and null if
	// that is not known yet. It becomes part of the query as it is: write it yourself, and never make it of what somebody sends.
	FailedIf string
	// SucceededIf is an SQL expression that is true if the delivery succeeded, to go with FailedIf. Default NOT FailedIf.
	SucceededIf string
	// ReporterColumn says who made the delivery, for breaker.Config.MinReporters. Default none.
	ReporterColumn string
}

// Poller counts how deliveries ended, in one query over a table of the user's. Make it with [NewPoller].
type Poller struct {
	db      *sql.DB
	dialect Dialect
	config  PollerConfig
}

// NewPoller returns a poller. It does not ask the database anything.
func NewPoller(db *sql.DB, d Dialect, c PollerConfig) (*Poller, error) {
	if db == nil {
		return nil, errors.New("sqlstore: db is nil")
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	if err := c.validate(d); err != nil {
		return nil, err
	}
	c.Failed, c.Succeeded = append([]any{}, c.Failed...), append([]any{}, c.Succeeded...)
	return &Poller{db: db, dialect: d, config: c}, nil
}

func (c *PollerConfig) validate(d Dialect) error {
	faults := []error{identifier("PollerConfig.Table", c.Table, longestTable, true), c.TimeType.validate(d)}
	for _, column := range []struct {
		field, name string
		required    bool
	}{
		{"TenantColumn", c.TenantColumn, false},
		{"KeyColumn", c.KeyColumn, true},
		{"TimeColumn", c.TimeColumn, true},
		{"StatusColumn", c.StatusColumn, false},
		{"ReporterColumn", c.ReporterColumn, false},
	} {
		if column.required || column.name != "" {
			faults = append(faults, identifier("PollerConfig."+column.field, column.name, maxIdentifier, false))
		}
	}
	return errors.Join(append(faults, c.checkOutcome())...)
}

// checkOutcome demands one way to tell a failure.
func (c *PollerConfig) checkOutcome() error {
	switch {
	case (c.StatusColumn == "") == (c.FailedIf == ""):
		return errors.New("sqlstore: PollerConfig has StatusColumn and FailedIf, or neither: want one of them")
	case c.StatusColumn != "" && len(c.Failed) == 0:
		return errors.New("sqlstore: PollerConfig.Failed is empty: want the values of StatusColumn that say that a delivery failed")
	case c.StatusColumn == "" && len(c.Failed)+len(c.Succeeded) > 0:
		return errors.New("sqlstore: PollerConfig.Failed and Succeeded are values of StatusColumn: want that as well")
	case c.SucceededIf != "" && c.FailedIf == "":
		return errors.New("sqlstore: PollerConfig.SucceededIf is there without FailedIf: want both, or values in Succeeded")
	}
	return nil
}

// Poll is a [breaker.PollFunc].
func (p *Poller) Poll(ctx context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	query, args, err := p.Query(q)
	if err != nil {
		return nil, err
	}
	results, err := p.run(ctx, query, args)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: poll of table %s: %w", p.config.Table, err)
	}
	return results, nil
}

func (p *Poller) run(ctx context.Context, query string, args []any) (map[breaker.Key]breaker.PollResult, error) {
	rows, err := p.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	results := map[breaker.Key]breaker.PollResult{}
	for rows.Next() {
		var tenant, id string
		var failures sql.NullFloat64 // null if nothing has ended
		var ended, reporters int
		if err := rows.Scan(&tenant, &id, &failures, &ended, &reporters); err != nil {
			return nil, err
		}
		results[breaker.Key{Tenant: tenant, ID: id}] = breaker.PollResult{
			Failures: failures.Float64, Successes: float64(ended) - failures.Float64, Reporters: reporters,
		}
	}
	return results, rows.Err()
}

// Query returns the query that Poll makes, and its parameters: put EXPLAIN before it to see whether it finds its index.
func (p *Poller) Query(q breaker.PollQuery) (query string, args []any, err error) {
	if q.Window < time.Microsecond {
		return "", nil, fmt.Errorf("sqlstore: PollQuery.Window is %v: want at least 1 µs", q.Window)
	}
	b := queryBuilder{dialect: p.dialect, config: &p.config}
	query, err = b.build(q)
	return query, b.args, err
}
