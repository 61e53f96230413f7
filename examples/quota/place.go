package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// bucketKey is the one bucket that there is.
const bucketKey = "calls"

// place is where the shared bucket lies. The zero place is nowhere.
type place struct {
	Name  string // of the buckets
	File  string // of SQLite
	Redis string // address; then there is no file
}

// open opens the store, which only its own close closes.
func (p place) open() (*sharedStore, error) {
	if p.Redis != "" {
		return openRedis(p.Redis, p.Name)
	}
	return openSQLite(p.File, p.Name)
}

// sharedStore is a store, and what it keeps its buckets in.
type sharedStore struct {
	bucket.Store

	db     *sql.DB // nil with Redis
	create func(context.Context) error
	close  func() error
}

// openSQLite opens a file whose users wait for each other for less than a limiter waits for its store: SQLite does not look at contexts while it
// waits. The file lives as long as the run, so nothing needs to survive a crash of the machine.
func openSQLite(file, name string) (*sharedStore, error) {
	source := url.URL{Scheme: "file", Opaque: filepath.ToSlash(file)}
	db, err := sql.Open("sqlite", source.String()+"?_pragma=busy_timeout(40)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // more would wait for each other
	store, err := sqlstore.NewBucket(db, sqlstore.SQLite, sqlstore.BucketConfig{Name: name})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sharedStore{Store: store, db: db, create: store.CreateSchema, close: func() error { return errors.Join(store.Close(), db.Close()) }}, nil
}

func openRedis(address, name string) (*sharedStore, error) {
	client := redis.NewUniversalClient(redisstore.Options(address))
	store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: name})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	create := func(ctx context.Context) error {
		if err := client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("cannot use the Redis of -redis %s: %w", address, err)
		}
		return nil
	}
	return &sharedStore{Store: store, create: create, close: func() error { return errors.Join(store.Close(), client.Close()) }}, nil
}

// hold keeps everybody from writing to the store, as a backup or a migration may, until release is called.
func (s *sharedStore) hold(ctx context.Context) (release func() error, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for {
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil {
			break
		}
		if ctx.Err() != nil || time.Until(deadline(ctx)) <= 0 {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, conn.Close())
	}, nil
}
