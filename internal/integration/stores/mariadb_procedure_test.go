package stores_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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
	db.SetMaxOpenConns(12)
	e.exec(t, db, documentTable)
	ask := func(id string) error {
		b := throttle.Must(sqlstore.NewProcedureBucket(db, id))
		return b.RequestToken(t.Context())
	}
	if err := ask("no procedure"); err == nil || errors.Is(err, bucket.ErrDenied) {
		t.Errorf("no procedure: got %v want another error", err)
	}
	e.exec(t, db, documentProcedure)
	e.exec(t, db, `INSERT INTO token_buckets VALUES ('full', 100, 100, 1000000, NOW()), ('old', 0, 3, 1, '2020-01-01 00:00:00'),
	('none', 0, 0, 1000000, '2000-01-01 00:00:00')`)
	var granted, denied atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 3 {
				switch err := ask("full"); {
				case err == nil:
					granted.Add(1)
				case errors.Is(err, bucket.ErrDenied):
					denied.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if granted.Load() != 100 || denied.Load() != 92 {
		t.Errorf("got %d granted and %d denied want 100 and 92", granted.Load(), denied.Load())
	}
	if err := ask("old"); err != nil {
		t.Errorf("a bucket to fill: got %v", err)
	}
	if err := ask("none"); err != nil {
		t.Errorf("a bucket that was filled with nothing: got %v want a token, since MariaDB counts the row", err)
	}
	for _, id := range []string{"none", "missing"} {
		var refused *bucket.DeniedError
		if err := ask(id); !errors.As(err, &refused) || refused.Key != id || refused.RetryAfter != 0 {
			t.Errorf("%s: got %v want a denial", id, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	b := throttle.Must(sqlstore.NewProcedureBucket(db, "old"))
	if err := b.RequestToken(over); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: got %v", err)
	}
}
