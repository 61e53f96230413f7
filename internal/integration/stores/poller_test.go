package stores_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

func pollerConfig(table string, at sqlstore.TimeType) sqlstore.PollerConfig {
	return sqlstore.PollerConfig{
		Table: table, TenantColumn: "tenant", KeyColumn: "endpoint", TimeColumn: timeColumns[at], TimeType: at,
		StatusColumn: "status", Failed: []any{"failed", "timeout"}, Succeeded: []any{"delivered"}, ReporterColumn: "agent",
	}
}

func (e *engine) poller(db *sql.DB, c sqlstore.PollerConfig) *sqlstore.Poller {
	return throttle.Must(sqlstore.NewPoller(db, e.dialect, c))
}

// polls asks in many ways about many deliveries, and compares with what a loop over them counts.
func (e *engine) polls(t *testing.T) {
	db := e.open(t, e.dsn(t))
	all := someDeliveries(short(10_000, 100_000))
	e.deliveries(t, db, "deliveries", time.Now(), all)
	since := map[breaker.Key]time.Duration{
		{Tenant: "one", ID: "a"}: 150 * time.Minute, {Tenant: "", ID: "A"}: 30 * time.Minute, {ID: "never seen"}: time.Hour,
		{Tenant: "one\xff", ID: "\x00\xfe"}: time.Hour, {Tenant: "ONE", ID: ""}: 0, {Tenant: "two", ID: "a "}: 1000 * time.Hour,
		{Tenant: "two", ID: "'\"`\\?$1%_"}: 90 * time.Minute,
	}
	many := map[breaker.Key]time.Duration{}
	for i := range 3000 {
		many[breaker.Key{Tenant: "two", ID: fmt.Sprintf("https://example.com:8443/hooks/%d", i)}] = time.Duration(i%24)*time.Hour + 30*time.Minute
	}
	for at := range timeColumns {
		if at == sqlstore.TimeInstant && e.dialect == sqlstore.SQLite {
			continue
		}
		p := e.poller(db, pollerConfig("deliveries", at))
		for name, q := range map[string]breaker.PollQuery{
			"an hour":               {Window: 90 * time.Minute},
			"all":                   {Window: 1000 * time.Hour},
			"with failures":         {Window: 330 * time.Minute, MinFailures: 20},
			"with some since":       {Window: 630 * time.Minute, MinFailures: 10.5, Since: since},
			"with 3,000 since":      {Window: 1410 * time.Minute, MinFailures: 3, Since: many},
			"a window without rows": {Window: time.Microsecond},
		} {
			t.Run(at.String()+" "+name, func(t *testing.T) {
				begun := time.Now()
				got, err := p.Poll(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%v", time.Since(begun))
				if d := differences(got, counts(all, q)); d != "" {
					t.Errorf("%.2000s", d)
				}
				e.findsIndex(t, db, p, q, at)
			})
		}
	}
	t.Run("other ways", func(t *testing.T) { e.pollsOtherwise(t, db, all) })
}

// findsIndex explains the query, if it is about so little of the table that an index is of use.
func (e *engine) findsIndex(t *testing.T, db *sql.DB, p *sqlstore.Poller, q breaker.PollQuery, at sqlstore.TimeType) {
	t.Helper()
	if q.Window > 2*time.Hour {
		return
	}
	plan := e.explain(t, db, p, q)
	if !strings.Contains(plan, "deliveries_"+timeColumns[at]) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, " index NULL ") ||
		e.dialect == sqlstore.SQLite && !strings.Contains(plan, "SEARCH d USING COVERING INDEX") {
		query, _, _ := p.Query(q)
		t.Errorf("the index is not used:\n%s\n%s", query, plan)
	}
}

func (e *engine) explain(t *testing.T, db *sql.DB, p *sqlstore.Poller, q breaker.PollQuery) string {
	t.Helper()
	query, args, err := p.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	word := map[sqlstore.Dialect]string{sqlstore.SQLite: "EXPLAIN QUERY PLAN "}[e.dialect]
	if word == "" {
		word = "EXPLAIN "
	}
	rows, err := db.Query(word+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var plan strings.Builder
	for rows.Next() {
		values, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		must(t, rows.Scan(places...))
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			plan.WriteString(v.String + " ")
		}
		plan.WriteString("\n")
	}
	return plan.String()
}

// pollsOtherwise tries the other ways to say what a failure is, tables without much in them, and mistakes.
func (e *engine) pollsOtherwise(t *testing.T, db *sql.DB, all []delivery) {
	q := breaker.PollQuery{Window: 90 * time.Minute, Since: map[breaker.Key]time.Duration{
		{Tenant: "one", ID: "a"}: 30 * time.Minute, {ID: "a"}: 30 * time.Minute, {Tenant: "one", ID: "A"}: 30 * time.Minute,
	}}
	byExpression := func(c *sqlstore.PollerConfig) {
		c.StatusColumn, c.Failed, c.Succeeded = "", nil, nil
		c.FailedIf = "status IN ('failed', 'timeout') AND (tenant IS NULL OR tenant IS NOT NULL)" // a name that the query itself must not use
	}
	known := func(d *delivery) { // without successes, all that is known and no failure is one
		if d.status == "pending" || d.status == "retry" {
			d.status = "delivered"
		}
	}
	for name, c := range map[string]struct {
		config func(*sqlstore.PollerConfig)
		counts func(*delivery)
	}{
		"by expression":                    {func(c *sqlstore.PollerConfig) { byExpression(c); c.SucceededIf = "status = 'delivered'" }, func(*delivery) {}},
		"by expression, without successes": {byExpression, known},
		"by status, without successes":     {func(c *sqlstore.PollerConfig) { c.Succeeded = nil }, known},
		"without tenants and reporters": {
			func(c *sqlstore.PollerConfig) { c.TenantColumn, c.ReporterColumn = "", "" }, func(d *delivery) { d.tenant, d.agent = nil, nil },
		},
	} {
		config, counted := pollerConfig("deliveries", sqlstore.TimeUnixMicros), slices.Clone(all)
		c.config(&config)
		for i := range counted {
			c.counts(&counted[i])
		}
		got, err := e.poller(db, config).Poll(t.Context(), q)
		if d := differences(got, counts(counted, q)); d != "" || err != nil {
			t.Errorf("%s: %v %.1000s", name, err, d)
		}
	}
	e.deliveries(t, db, "no_deliveries", time.Now(), nil)
	if got, err := e.poller(db, pollerConfig("no_deliveries", sqlstore.TimeUnixMicros)).Poll(t.Context(), q); err != nil || len(got) != 0 {
		t.Errorf("an empty table: got %v %v want nothing", got, err)
	}
	for what, c := range map[string]sqlstore.PollerConfig{"no_such_table": pollerConfig("no_such_table", sqlstore.TimeUnixMicros), "no_such_column": {
		Table: "deliveries", KeyColumn: "no_such_column", TimeColumn: "at_us", TimeType: sqlstore.TimeUnixMicros, FailedIf: "status = 'failed'",
	}} {
		if _, err := e.poller(db, c).Poll(t.Context(), q); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), c.Table) {
			t.Errorf("%s: got %v want an error that names it and the table", what, err)
		}
	}
}
