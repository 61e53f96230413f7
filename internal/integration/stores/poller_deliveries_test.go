package stores_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// delivery is a row of a table of deliveries. Nil is NULL.
type delivery struct {
	tenant, endpoint, status, agent any

	age time.Duration
}

// timeColumns are the columns of that table with the time, each of another type.
var timeColumns = map[sqlstore.TimeType]string{
	sqlstore.TimeInstant: "at_instant", sqlstore.TimeUTC: "at_utc",
	sqlstore.TimeUnixSeconds: "at_s", sqlstore.TimeUnixMillis: "at_ms", sqlstore.TimeUnixMicros: "at_us",
}

// deliveries creates and fills a table, with the documented index on each time column.
func (e *engine) deliveries(t testing.TB, db *sql.DB, table string, base time.Time, all []delivery) {
	t.Helper()
	text, instant, utc := "VARCHAR(100)", "timestamptz", "timestamp"
	switch e.dialect {
	case sqlstore.MySQL: // whose text is the same in capital letters by default
		instant, utc = "TIMESTAMP(6)", "DATETIME(6)"
	case sqlstore.SQLite:
		text, instant, utc = "VARCHAR(100) COLLATE NOCASE", "TEXT", "TEXT"
	}
	e.exec(t, db, fmt.Sprintf(`CREATE TABLE %s (tenant %[2]s, endpoint %[2]s, status VARCHAR(20), agent VARCHAR(20),
		at_instant %s NULL, at_utc %s, at_s BIGINT, at_ms BIGINT, at_us BIGINT)`, table, text, instant, utc))
	for len(all) > 0 {
		n := min(len(all), 1000)
		e.insert(t, db, table, base, all[:n])
		all = all[n:]
	}
	for _, column := range timeColumns {
		e.exec(t, db, fmt.Sprintf("CREATE INDEX %s_%s ON %[1]s (%[2]s, tenant, endpoint, status, agent)", table, column))
	}
	e.exec(t, db, map[sqlstore.Dialect]string{
		sqlstore.PostgreSQL: "VACUUM ANALYZE ", sqlstore.MySQL: "ANALYZE TABLE ", sqlstore.SQLite: "ANALYZE ",
	}[e.dialect]+table)
}

func (e *engine) exec(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

func (e *engine) insert(t testing.TB, db *sql.DB, table string, base time.Time, some []delivery) {
	t.Helper()
	var args []any
	for i, d := range some {
		at := base.Add(-d.age).UTC()
		row := []any{
			d.tenant, d.endpoint, d.status, d.agent, at.Format("2006-01-02 15:04:05.000000"), at.Format("2006-01-02 15:04:05.000000"),
			at.Unix(), at.UnixMilli(), at.UnixMicro(),
		}
		switch e.dialect {
		case sqlstore.PostgreSQL:
			row[4] = at.Format("2006-01-02T15:04:05.000000Z")
		case sqlstore.SQLite: // the ways in which programs write times
			row[5] = at.Format([]string{
				"2006-01-02 15:04:05", "2006-01-02T15:04:05.000Z", "2006-01-02 15:04:05.999999 -0700 MST", "2006-01-02 15:04:05.000+00:00",
			}[i%4])
		}
		args = append(args, row...)
	}
	rows := strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?, ?)", len(some))
	e.exec(t, db, e.query("INSERT INTO "+table+" VALUES "+rows[2:]), args...)
}

// counts returns the expected result of a poll.
func counts(all []delivery, q breaker.PollQuery) map[breaker.Key]breaker.PollResult {
	found := map[breaker.Key]breaker.PollResult{}
	agents := map[breaker.Key]map[any]bool{}
	for _, d := range all {
		if d.endpoint == nil {
			continue
		}
		tenant, _ := d.tenant.(string)
		key := breaker.Key{Tenant: tenant, ID: d.endpoint.(string)}
		span, single := q.Since[key]
		if !single {
			span = q.Window
		}
		if d.age >= min(span, q.Window) {
			continue
		}
		r := found[key]
		switch d.status {
		case "failed", "timeout":
			r.Failures++
			if agents[key] == nil {
				agents[key] = map[any]bool{}
			}
			if d.agent != nil {
				agents[key][d.agent] = true
			}
		case "delivered":
			r.Successes++
		}
		r.Reporters = len(agents[key])
		found[key] = r
	}
	maps.DeleteFunc(found, func(k breaker.Key, r breaker.PollResult) bool {
		_, single := q.Since[k]
		return !single && r.Failures < q.MinFailures
	})
	return found
}

// differences describes where two results differ. It ignores keys without calls, which a poll may return
// or leave out.
func differences(got, want map[breaker.Key]breaker.PollResult) string {
	var s strings.Builder
	for k := range want {
		if got[k] != want[k] {
			fmt.Fprintf(&s, "%v: got %+v want %+v\n", k, got[k], want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok && got[k] != (breaker.PollResult{}) {
			fmt.Fprintf(&s, "%v: got %+v want nothing\n", k, got[k])
		}
	}
	return s.String()
}

// someDeliveries returns n deliveries of the last 30 hours, all in the first quarter of an hour. Tests use
// the middle of them.
func someDeliveries(n int) []delivery {
	random := rand.New(rand.NewPCG(1, 2))
	statuses := []any{"failed", "timeout", "delivered", "delivered", "delivered", "pending", "retry", nil}
	pick := func(of ...any) any { return of[random.IntN(len(of))] }
	all := make([]delivery, n)
	for i := range all {
		endpoint := any(fmt.Sprintf("https://example.com:8443/hooks/%d", random.IntN(4000)))
		if random.IntN(4) == 0 {
			endpoint = pick("A", "a", "a ", "ä", "a\u0308", "Ä", "", "42", "'\"`\\?$1%_", "日本", nil)
		}
		all[i] = delivery{
			tenant: pick("one", "ONE", "two", "", nil), endpoint: endpoint, status: pick(statuses...), agent: pick("x", "y", "z", nil),
			age: time.Duration(random.IntN(30))*time.Hour + time.Duration(1+random.IntN(14))*time.Minute,
		}
	}
	return all
}
