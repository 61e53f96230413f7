package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/examples/internal/sqlite"
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

// openSQLite opens the file that the processes share. They wait for each other for less than
// bucket.Config.StoreTimeout.
func openSQLite(ctx context.Context, file, name string) (store.Store, func() error, error) {
	db, err := sqlite.Open(file, 40*time.Millisecond)
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
