package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// table stands for a table of a managed database, such as DynamoDB. It accepts as many writes a
// second as its capacity, and throttles the others. A bucket simulates the capacity; its burst is
// the capacity of 50 ms.
type table struct {
	capacity           *bucket.Limiter
	written, throttled atomic.Int64
}

func newTable(perSecond int64) (*table, error) {
	// A hook of its own keeps the default hooks away: the metrics must not show a simulated
	// database.
	hooks := bucket.Hooks{Created: func(*bucket.Limiter) {}}
	l, err := bucket.New(bucket.Config{Name: "table", Limit: capacityOf(perSecond), Hooks: hooks})
	return &table{capacity: l}, err
}

// provision changes the capacity, as an administrator or an autoscaler does.
func (t *table) provision(perSecond int64) error { return t.capacity.SetLimit(capacityOf(perSecond)) }

func capacityOf(perSecond int64) bucket.Limit {
	return bucket.PerSecond(perSecond).WithBurst(perSecond / 20)
}

// write writes one item, which takes 3 to 7 ms. backoff.Classify recognises the error of a
// throttled write. A program of yours converts the error of its database to one of package faults,
// or sets Config.Classify.
func (t *table) write(ctx context.Context) error {
	err := t.capacity.Take(ctx, "", 1)
	if err := program.Sleep(ctx, 3*time.Millisecond+rand.N(4*time.Millisecond)); err != nil {
		return err
	}
	if errors.Is(err, bucket.ErrDenied) {
		t.throttled.Add(1)
		return faults.ResourceExhausted(&faults.QuotaViolation{Subject: "table orders", Description: "no capacity left"})
	}
	t.written.Add(1)
	return err
}
