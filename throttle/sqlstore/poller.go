package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// PollerConfig describes a table of deliveries, or of other operations that may fail. Names of
// tables and columns are ASCII letters, digits and underscores. The query quotes them, so
// PostgreSQL compares them exactly as they are in its catalog.
type PollerConfig struct {
	// Table is the table's name. A schema and a dot may come before it. Required.
	Table string
	// TenantColumn is the column of [breaker.Key.Tenant]: text, a number or a UUID. Default none:
	// the tenant of all keys is "".
	TenantColumn string
	// KeyColumn is the column of [breaker.Key.ID]: text, a number or a UUID. Rows with NULL are not
	// counted. Required.
	KeyColumn string
	// TimeColumn is the column of the time at which the row was written, or at which the delivery
	// ended. Let the database set it: failures of a process whose clock is an hour ahead would
	// count for an hour too long. Required.
	TimeColumn string
	// TimeType is the type of TimeColumn. Required.
	TimeType TimeType

	// StatusColumn is the column of the delivery's result. Set either StatusColumn or FailedIf.
	StatusColumn string
	// Failed are the values of StatusColumn that mean a failed delivery, of types that the driver
	// accepts. Required with StatusColumn.
	Failed []any
	// Succeeded are the values of StatusColumn that mean a successful delivery. Default all other
	// values except NULL.
	Succeeded []any
	// FailedIf is an SQL expression: true for a failed delivery, false for another one, NULL if the
	// result is not known yet. It becomes part of the query unchanged, so never build it from input
	// of users.
	FailedIf string
	// SucceededIf is an SQL expression that is true for a successful delivery. It needs FailedIf.
	// Default NOT FailedIf.
	SucceededIf string
	// ReporterColumn is the column that identifies the sender of the delivery. It is needed for
	// breaker.Config.MinReporters. Default none.
	ReporterColumn string
}

// Poller counts the results of deliveries by one query over a table of yours. Create it with
// [NewPoller]. It is safe for concurrent use.
type Poller struct {
	db      *sql.DB
	dialect Dialect
	config  PollerConfig
}

// NewPoller returns a poller. It does not connect to the database.
func NewPoller(db *sql.DB, d Dialect, c PollerConfig) (*Poller, error) {
	if db == nil {
		return nil, errNoDB
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
	e := check.Errors{Owner: "sqlstore: PollerConfig"}
	e.Add(checkIdentifier("PollerConfig.Table", c.Table, maxIdentifier, true))
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
			e.Add(checkIdentifier("PollerConfig."+column.field, column.name, maxIdentifier, false))
		}
	}
	c.TimeType.validate(&e, d)
	e.Add(c.checkOutcome())
	return e.Err()
}

// checkOutcome returns an error unless the config has exactly one way to recognize a failed
// delivery.
func (c *PollerConfig) checkOutcome() error {
	status := c.StatusColumn != ""
	switch {
	case status && c.FailedIf != "":
		return errors.New("sqlstore: PollerConfig.StatusColumn and FailedIf are both set: want one of them")
	case status && c.SucceededIf != "":
		return errors.New("sqlstore: PollerConfig.SucceededIf does not work with StatusColumn: want values in Succeeded")
	case status && len(c.Failed) == 0:
		return errors.New("sqlstore: PollerConfig.Failed is missing: want the values of StatusColumn that mean a failed delivery")
	case !status && len(c.Failed)+len(c.Succeeded) > 0:
		return errors.New("sqlstore: PollerConfig.StatusColumn is required with Failed and Succeeded")
	case c.FailedIf == "" && c.SucceededIf != "":
		return errors.New("sqlstore: PollerConfig.FailedIf is required with SucceededIf")
	case !status && c.FailedIf == "":
		return errors.New("sqlstore: PollerConfig.StatusColumn and FailedIf are missing: want one of them")
	}
	return nil
}

// Poll is a [breaker.PollFunc]. It runs one query.
func (p *Poller) Poll(ctx context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
	query, args, err := p.Query(q)
	if err != nil {
		return nil, err
	}
	results := map[breaker.Key]breaker.PollResult{}
	err = eachRow(ctx, p.db, query, args, func(rows *sql.Rows) error {
		var tenant, id string
		var failures sql.NullFloat64 // NULL if no delivery has a result
		var ended, reporters int
		if err := rows.Scan(&tenant, &id, &failures, &ended, &reporters); err != nil {
			return err
		}
		results[breaker.Key{Tenant: tenant, ID: id}] = breaker.PollResult{
			Failures: failures.Float64, Successes: float64(ended) - failures.Float64, Reporters: reporters,
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: poll of table %s: %w", p.config.Table, err)
	}
	return results, nil
}

// Query returns the query of Poll, and its parameters. Run it with EXPLAIN to see whether it uses
// an index.
func (p *Poller) Query(q breaker.PollQuery) (query string, args []any, err error) {
	if q.Window < time.Microsecond {
		return "", nil, fmt.Errorf("sqlstore: PollQuery.Window is %v: want at least 1 µs", q.Window)
	}
	b := queryBuilder{dialect: p.dialect, config: &p.config}
	query, err = b.build(q)
	return query, b.args, err
}
