package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// broken is a database driver whose connections all fail.
type broken struct{ err error }

func (b broken) Connect(context.Context) (driver.Conn, error) { return nil, b.err }
func (b broken) Driver() driver.Driver                        { return b }
func (b broken) Open(string) (driver.Conn, error)             { return nil, b.err }

func brokenDB(t *testing.T, err error) *sql.DB {
	t.Helper()
	db := sql.OpenDB(broken{err})
	t.Cleanup(func() { db.Close() })
	return db
}

var errBroken = errors.New("connection refused by the test")

// equals checks a value.
func equals[T comparable](t *testing.T, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

func goodConfig() PollerConfig {
	return PollerConfig{
		Table: "deliveries", KeyColumn: "endpoint", TimeColumn: "created_at", TimeType: TimeUTC, StatusColumn: "status", Failed: []any{"failed"},
	}
}

// queryOf returns the query of a poll, and its parameters.
func queryOf(t *testing.T, d Dialect, c PollerConfig, q breaker.PollQuery) (string, []any) {
	t.Helper()
	query, args, err := throttle.Must(NewPoller(brokenDB(t, errBroken), d, c)).Query(q)
	if err != nil {
		t.Fatal(err)
	}
	return query, args
}
