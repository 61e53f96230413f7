package main

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// The names of the subjects of buckets in memory.
const (
	bucketGranted = "bucket, granted"
	bucketDenied  = "bucket, denied"
)

var errNotGranted = errors.New("not granted")

// noRefill is longer than any run, so that a taken token does not come back.
const noRefill = 300 * 24 * time.Hour

// buckets returns takes from a limiter with buckets in memory, of which one is empty.
func buckets() []*subject {
	full, empty := bucketOf(bucket.PerSecond(unlimited)), bucketOf(bucket.Every(noRefill))
	_ = ask(empty)
	return []*subject{
		{name: bucketGranted, pair: true, op: func() error { return ask(full) }},
		{name: bucketDenied, pair: true, good: isDenied, op: func() error { return ask(empty) }},
	}
}

func bucketOf(l bucket.Limit) *bucket.Limiter {
	return bucket.Must(bucket.New(bucket.Config{Name: "bench", Limit: l}))
}

// ask takes a token of a bucket, and makes a call if it is granted.
func ask(l *bucket.Limiter) error {
	ctx := context.Background()
	d, err := l.Decide(ctx, "key")
	switch {
	case err != nil:
		return err
	case !d.Allowed:
		return errNotGranted
	}
	return noop(ctx)
}

func isDenied(err error) bool { return errors.Is(err, errNotGranted) }
