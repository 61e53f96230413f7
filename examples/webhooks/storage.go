package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/examples/internal/sqlite"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// breakerName is the name of the breaker that the agents share.
const breakerName = "webhooks"

// storage has the table of deliveries and the store of the breaker. All agents use it.
type storage struct {
	db      *sql.DB
	dialect sqlstore.Dialect
	store   store.Store
	poller  *sqlstore.Poller
	cleanup []func() error // called in reverse order
}

// openStorage opens the database and the store, and creates the tables. close removes them.
func openStorage(ctx context.Context, s settings) (_ *storage, err error) {
	st := &storage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	run := fmt.Sprintf("webhooks_%08x", rand.Uint32())
	if s.postgres != "" {
		err = st.openPostgres(ctx, s.postgres, run)
	} else {
		err = st.openSQLite()
	}
	if err != nil {
		return nil, err
	}
	if err := st.createDeliveries(ctx); err != nil {
		return nil, err
	}
	if s.redis != "" {
		return st, st.openRedis(ctx, s.redis, run)
	}
	store, err := sqlstore.NewBreaker(st.db, st.dialect, sqlstore.BreakerConfig{Name: breakerName})
	if err != nil {
		return nil, err
	}
	st.store = store
	return st, store.CreateSchema(ctx)
}

// openSQLite opens a temporary file.
func (st *storage) openSQLite() error {
	folder, err := os.MkdirTemp("", "webhooks-")
	if err != nil {
		return err
	}
	st.cleanup = append(st.cleanup, func() error { return os.RemoveAll(folder) })
	st.dialect = sqlstore.SQLite
	st.db, err = sqlite.Open(filepath.Join(folder, "webhooks.db"), time.Second)
	if err == nil {
		st.db.SetMaxOpenConns(1) // more would wait for each other
		st.cleanup = append(st.cleanup, st.db.Close)
	}
	return err
}

// openPostgres opens a database and makes a schema for this run.
func (st *storage) openPostgres(ctx context.Context, dsn, schema string) error {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	c.RuntimeParams["search_path"] = schema
	st.dialect, st.db = sqlstore.PostgreSQL, stdlib.OpenDB(*c)
	st.db.SetMaxOpenConns(10)
	st.db.SetMaxIdleConns(10)
	st.cleanup = append(st.cleanup, st.db.Close)
	if _, err := st.db.ExecContext(ctx, "CREATE SCHEMA "+schema); err != nil {
		return fmt.Errorf("cannot use the database of -postgres: %w", err)
	}
	st.cleanup = append(st.cleanup, func() error {
		_, err := st.db.ExecContext(context.WithoutCancel(ctx), "DROP SCHEMA "+schema+" CASCADE")
		return err
	})
	return nil
}

// openRedis opens a store whose keys have a prefix for this run.
func (st *storage) openRedis(ctx context.Context, address, prefix string) (err error) {
	client := redis.NewUniversalClient(redisstore.Options(address))
	st.cleanup = append(st.cleanup, client.Close)
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("cannot use the Redis of -redis %s: %w", address, err)
	}
	st.cleanup = append(st.cleanup, func() error {
		ctx := context.WithoutCancel(ctx)
		keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			client.Del(ctx, keys.Val())
		}
		return keys.Err()
	})
	st.store, err = redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: breakerName, Prefix: prefix})
	return err
}

// createDeliveries creates the table of deliveries, which most dispatchers have, and an index for
// the poller. The database sets the time, so that differences between the agents' clocks do not
// matter.
func (st *storage) createDeliveries(ctx context.Context) (err error) {
	if _, err := st.db.ExecContext(ctx, "CREATE TABLE deliveries (ended_ms BIGINT NOT NULL DEFAULT ("+st.now()+"), "+
		"customer TEXT NOT NULL, endpoint TEXT NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL); "+
		"CREATE INDEX deliveries_breaker ON deliveries (ended_ms, customer, endpoint, status, agent)"); err != nil {
		return err
	}
	st.poller, err = sqlstore.NewPoller(st.db, st.dialect, sqlstore.PollerConfig{
		Table: "deliveries", TenantColumn: "customer", KeyColumn: "endpoint", TimeColumn: "ended_ms", TimeType: sqlstore.TimeUnixMillis,
		StatusColumn: "status", Failed: []any{"failed"}, ReporterColumn: "agent",
	})
	return err
}

// now returns the SQL expression for the database's time in milliseconds since 1970.
func (st *storage) now() string {
	if st.dialect == sqlstore.PostgreSQL {
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
	}
	return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
}

// record writes the outcome of a delivery.
func (st *storage) record(ctx context.Context, k breaker.Key, agent string, failed bool) error {
	status := "delivered"
	if failed {
		status = "failed"
	}
	_, err := st.db.ExecContext(ctx, "INSERT INTO deliveries (customer, endpoint, status, agent) VALUES ($1, $2, $3, $4)",
		k.Tenant, k.ID, status, agent)
	return err
}

// deleteOld deletes deliveries older than age, which the poller no longer counts.
func (st *storage) deleteOld(ctx context.Context, age time.Duration) error {
	_, err := st.db.ExecContext(ctx, fmt.Sprintf("DELETE FROM deliveries WHERE ended_ms < %s - %d", st.now(), age.Milliseconds()))
	return err
}

// close closes the connections, and removes the file, schema or keys of the run.
func (st *storage) close() error {
	var errs []error
	for _, f := range slices.Backward(st.cleanup) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
