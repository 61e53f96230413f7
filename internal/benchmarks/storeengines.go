package main

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// The contenders of Redis that have bounds.
const (
	redisCoalesced = "Redis, " + coalesced
	redisOneByOne  = "Redis, " + oneByOne
	redisRate      = "Redis, redis_rate"

	redisThousand            = "Redis, 1,000 keys, " + coalesced
	redisRateThousand        = "Redis, 1,000 keys, redis_rate"
	redisHundredThousand     = "Redis, 100,000 keys, " + coalesced
	redisRateHundredThousand = "Redis, 100,000 keys, redis_rate"
)

// connections is the size of the pool of a database.
const connections = 32

type engine struct {
	name  string
	start func(testing.TB) []*contender
}

func engines() []engine {
	return []engine{
		// Without a server, this is the cost of the limiter itself, which takes the hidden memory for a remote store.
		{"Instant store", func(t testing.TB) []*contender {
			return limiterWays(t, "Instant store", struct{ store.Store }{bucket.NewMemoryStore()})
		}},
		{"Redis", startRedis},
		{"PostgreSQL", func(t testing.TB) []*contender {
			return startSQL(t, "PostgreSQL", sqlstore.PostgreSQL, openSQL(t, "pgx", program.Postgres(t).DSN(""), connections))
		}},
		{"MariaDB", func(t testing.TB) []*contender {
			return startSQL(t, "MariaDB", sqlstore.MySQL, openSQL(t, "mysql", program.MariaDB(t, "").DSN("interpolateParams=true"), connections))
		}},
		{"SQLite", func(t testing.TB) []*contender {
			file := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "store.db"))
			settings := "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
			return startSQL(t, "SQLite", sqlstore.SQLite, openSQL(t, "sqlite", file+settings, 1))
		}},
	}
}

func startRedis(t testing.TB) []*contender {
	logging.Disable() // it logs errors while the server starts
	options := redisstore.Options(program.Redis(t).Address)
	options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = time.Minute, time.Minute, time.Minute // a slow server must not cause timeouts
	client := redis.NewUniversalClient(options)
	t.Cleanup(func() { client.Close() })
	store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	all := append(limiterWays(t, "Redis", store), viaLimiter(t, "Redis, "+leased, store, bucket.Config{Lease: 1000}, nil),
		viaRedisRate(redisRate, client, func() string { return "key" }),
		&contender{name: "Redis, bare PING", take: func(ctx context.Context) error { return client.Ping(ctx).Err() }},
	)
	for _, c := range []struct {
		keys         int
		ours, theirs string
	}{{1000, redisThousand, redisRateThousand}, {100_000, redisHundredThousand, redisRateHundredThousand}} {
		key := func() string { return strconv.Itoa(rand.IntN(c.keys)) }
		all = append(all, viaLimiter(t, c.ours, store, bucket.Config{}, key), viaRedisRate(c.theirs, client, key))
	}
	return all
}

func viaRedisRate(name string, client redis.UniversalClient, key func() string) *contender {
	rates, limit := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: refill, Burst: capacity, Period: time.Second}
	return &contender{name: name, take: func(ctx context.Context) error {
		result, err := rates.Allow(ctx, key(), limit)
		if err == nil && result.Allowed != 1 {
			err = errNotGranted
		}
		return err
	}}
}

// openSQL returns a pool that keeps its connections open.
func openSQL(t testing.TB, driver, dsn string, connections int) *sql.DB {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func startSQL(t testing.TB, name string, d sqlstore.Dialect, db *sql.DB) []*contender {
	store, err := sqlstore.NewBucket(db, d, sqlstore.BucketConfig{Name: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CreateSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	return append(limiterWays(t, name, store), &contender{name: name + ", bare SELECT 1", take: func(ctx context.Context) error {
		var one int
		return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	}})
}
