package limits

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// engine is the store of the buckets. Agents get it in their order.
type engine struct {
	Name    string // redis, postgres, mariadb or sqlite
	Address string // or DSN, or file
	Tick    time.Duration
	Slow    bool // makes fewer calls: SQLite in Go is slow under the race detector
}

func dialects(name string) (sqlstore.Dialect, string) {
	switch name {
	case "postgres":
		return sqlstore.PostgreSQL, "pgx"
	case "mariadb":
		return sqlstore.MySQL, "mysql"
	}
	return sqlstore.SQLite, "sqlite"
}

// open returns a store whose calls have a timeout, or 0 for the defaults. The client of Redis gets longer ones. SQLite ignores the
// context while it waits for a lock, so it gets the timeout as a setting too.
func (e engine) open(name string, timeout time.Duration) (store.Store, func(), error) {
	if e.Name == "redis" {
		o := redisstore.Options(e.Address)
		if timeout != 0 {
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = longTimeout, longTimeout, longTimeout, longTimeout
		}
		client := redis.NewUniversalClient(o)
		store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: name})
		return store, func() { _ = client.Close() }, err
	}
	db, err := e.openSQL(timeout)
	if err != nil {
		return nil, nil, err
	}
	dialect, _ := dialects(e.Name)
	store, err := sqlstore.NewBucket(db, dialect, sqlstore.BucketConfig{Name: name})
	return store, func() { _ = db.Close() }, err
}

func (e engine) openSQL(timeout time.Duration) (*sql.DB, error) {
	dialect, driver := dialects(e.Name)
	dsn := e.Address
	if dialect == sqlstore.SQLite {
		pragmas := []string{fmt.Sprintf("busy_timeout(%d)", cmp.Or(timeout, 50*time.Millisecond).Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)"}
		dsn = "file:" + e.Address + "?" + url.Values{"_pragma": pragmas}.Encode()
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	n := 8
	if dialect == sqlstore.SQLite {
		n = 1
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// prepare creates the schema that the store needs.
func (e engine) prepare(ctx context.Context) error {
	store, end, err := e.open("prepared", longTimeout)
	if err != nil {
		return err
	}
	defer end()
	if s, ok := store.(*sqlstore.Bucket); ok {
		return s.CreateSchema(ctx)
	}
	return nil
}
