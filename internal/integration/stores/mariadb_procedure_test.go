package stores_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// The statements of the documentation.
const (
	documentTable = `CREATE TABLE token_buckets (
	id CHAR(36) PRIMARY KEY, available INT UNSIGNED, capacity INT UNSIGNED, refill_seconds INT UNSIGNED, last_refill_at TIMESTAMP(3)
)`
	documentProcedure = `CREATE PROCEDURE request_token (IN id CHAR(36))
BEGIN
UPDATE token_buckets tb SET tb.available = tb.capacity, tb.last_refill_at = NOW()
WHERE tb.id = id AND TIMESTAMPADD(SECOND, tb.refill_seconds, tb.last_refill_at) <= NOW();
UPDATE token_buckets tb SET tb.available = tb.available - 1 WHERE tb.id = id AND tb.available > 0;
END`
)

// allowProcedures creates the system table for procedures, which a server without accounts lacks.
func (e *engine) allowProcedures(t *testing.T) {
	t.Helper()
	found, _ := filepath.Glob("/usr/share/m*/mysql_system_tables.sql")
	if len(found) == 0 {
		const reason = "needs mysql_system_tables.sql (package mariadb-server)"
		if os.Getenv("SPILLWAY_REQUIRE_SERVICES") == "1" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	text := throttle.Must(os.ReadFile(found[0]))
	_, proc, _ := strings.Cut(string(text), "CREATE TABLE IF NOT EXISTS proc (")
	proc, _, _ = strings.Cut(proc, ";")
	db := e.open(t, e.dsn(t))
	db.SetMaxOpenConns(1)
	for _, s := range []string{"SET sql_mode = ''", "CREATE DATABASE IF NOT EXISTS mysql", "CREATE TABLE IF NOT EXISTS mysql.proc (" + proc} {
		e.exec(t, db, s)
	}
}

func (e *engine) asksTheDocuments(t *testing.T) {
	e.allowProcedures(t)
	db := e.open(t, e.dsn(t))
	e.exec(t, db, documentTable)
	ask := func(id string) error {
		b := throttle.Must(sqlstore.NewProcedureBucket(db, id))
		return b.RequestToken(t.Context())
	}
	if err := ask("no procedure"); err == nil || errors.Is(err, bucket.ErrDenied) {
		t.Errorf("no procedure: got %v want another error", err)
	}
	e.exec(t, db, documentProcedure)
	e.exec(t, db, `INSERT INTO token_buckets VALUES ('full', 2, 2, 1000000, NOW()), ('old', 0, 3, 1, '2020-01-01 00:00:00'),
	('none', 0, 0, 1000000, '2000-01-01 00:00:00')`)
	for _, c := range []struct {
		id     string
		denied bool
	}{
		{"full", false}, {"full", false}, {"full", true},
		{"old", false},  // which is filled
		{"none", false}, // which is filled with nothing: MariaDB counts the row
		{"none", true}, {"missing", true},
	} {
		err := ask(c.id)
		var refused *bucket.DeniedError
		if errors.As(err, &refused) != c.denied || c.denied && (refused.Key != c.id || refused.RetryAfter != 0) || !c.denied && err != nil {
			t.Errorf("%s: got %v want a denial: %v", c.id, err, c.denied)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := throttle.Must(sqlstore.NewProcedureBucket(db, "old")).RequestToken(over); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: got %v", err)
	}
}
