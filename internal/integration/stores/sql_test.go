package stores_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// TestMain runs more tests at once than there are processors: most wait for a server.
func TestMain(m *testing.M) { program.Main(m, 4, nil) }

// short returns how much a test does: all of it, or less with -short.
func short(less, all int) int {
	if testing.Short() {
		return less
	}
	return all
}

// engine is a database that the cases of this file need: they hold for all of them.
type engine struct {
	dialect sqlstore.Dialect
	driver  string
	dsn     func(t testing.TB) string // of an empty database, or one that all share
	last    *atomic.Int64             // number of the last breaker
}

func newEngine(d sqlstore.Dialect, driver string, dsn func(t testing.TB) string) *engine {
	return &engine{dialect: d, driver: driver, dsn: dsn, last: new(atomic.Int64)}
}

// with returns the same database, with other settings of sessions, and other names of breakers.
func (e *engine) with(dsn string) *engine {
	other := newEngine(e.dialect, e.driver, func(testing.TB) string { return dsn })
	other.last.Store(1000)
	return other
}

// open returns a pool of connections of its own.
func (e *engine) open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := throttle.Must(sql.Open(e.driver, dsn))
	t.Cleanup(func() { db.Close() })
	if e.dialect == sqlstore.SQLite {
		db.SetMaxOpenConns(1)
	}
	return db
}

// query writes a query's parameters as the database wants them.
func (e *engine) query(q string) string {
	if e.dialect != sqlstore.PostgreSQL {
		return q
	}
	var numbered strings.Builder
	for n, part := range strings.Split(q, "?") {
		if n > 0 {
			fmt.Fprintf(&numbered, "$%d", n)
		}
		numbered.WriteString(part)
	}
	return numbered.String()
}

// store returns a handle on a breaker's store, with its tables.
func (e *engine) store(t testing.TB, db *sql.DB, c sqlstore.BreakerConfig) *sqlstore.Breaker {
	t.Helper()
	b := throttle.Must(sqlstore.NewBreaker(db, e.dialect, c))
	must(t, b.CreateSchema(t.Context()))
	return b
}

// fresh returns a func that returns handles on new storage, each with its own pool.
func (e *engine) fresh(t *testing.T) func() store.Store { return e.handles(t, e.dsn(t)) }

// handles does so too. The handles take turns with the settings of sessions.
func (e *engine) handles(t *testing.T, dsns ...string) func() store.Store {
	name := fmt.Sprintf("a breaker's 'name' %d \x00\xff;--\"`%%?$1", e.last.Add(1))
	return func() store.Store {
		dsn := dsns[e.last.Add(1)%int64(len(dsns))]
		return e.store(t, e.open(t, dsn), sqlstore.BreakerConfig{Name: name})
	}
}

// sqliteFile returns how to open a file that any number of processes share.
func sqliteFile(file string) string {
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(OFF)"}}
	return "file:" + filepath.ToSlash(file) + "?" + q.Encode()
}

func newSQLite() *engine {
	return newEngine(sqlstore.SQLite, "sqlite", func(t testing.TB) string { return sqliteFile(filepath.Join(t.TempDir(), "store.db")) })
}
