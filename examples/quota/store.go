package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// openStore opens the store of the bucket. Each process calls it.
func (s settings) openStore(ctx context.Context) (store store.Store, closeStore func() error, err error) {
	if s.Redis != "" {
		return openRedis(ctx, s.Redis, s.Bucket)
	}
	return openSQLite(ctx, s.File, s.Bucket)
}

// openSQLite opens the file that the processes share. busy_timeout is below
// bucket.Config.StoreTimeout, because SQLite ignores contexts while it waits for a lock.
// synchronous(OFF) may lose data if the machine crashes, which is fine for a temporary file.
func openSQLite(ctx context.Context, file, name string) (store.Store, func() error, error) {
	source := url.URL{Scheme: "file", Opaque: filepath.ToSlash(file)}
	const pragmas = "?_pragma=busy_timeout(40)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	db, err := sql.Open("sqlite", source.String()+pragmas)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // more would wait for each other
	store, err := sqlstore.NewBucket(db, sqlstore.SQLite, sqlstore.BucketConfig{Name: name})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	closeStore := func() error { return errors.Join(store.Close(), db.Close()) }
	if err := store.CreateSchema(ctx); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return store, closeStore, nil
}

// openRedis opens a store in Redis. Its keys expire soon after the bucket is full.
func openRedis(ctx context.Context, address, name string) (store.Store, func() error, error) {
	client := redis.NewUniversalClient(redisstore.Options(address))
	store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: name})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	closeStore := func() error { return errors.Join(store.Close(), client.Close()) }
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cannot use the Redis of -redis %s: %w", address, err), closeStore())
	}
	return store, closeStore, nil
}
