package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
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

func goodConfig() PollerConfig {
	return PollerConfig{
		Table: "deliveries", KeyColumn: "endpoint", TimeColumn: "created_at", TimeType: TimeUTC, StatusColumn: "status", Failed: []any{"failed"},
	}
}
