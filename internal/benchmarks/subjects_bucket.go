package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// The names of the subjects of buckets in memory.
const (
	bucketGranted     = "bucket, granted"
	bucketDenied      = "bucket, denied"
	bucketGrantedMany = "bucket, granted, 1,024 keys"
	bucketDeniedMany  = "bucket, denied, 1,024 keys"

	bucketGrantedMetrics = "bucket, granted, metrics on"
	bucketDeniedMetrics  = "bucket, denied, metrics on"
)

// manyKeys is a power of two, so that a random key is cheap to choose.
const manyKeys = 1024

var errNotGranted = errors.New("not granted")

// noRefill is longer than any run, so that a taken token does not come back.
const noRefill = 300 * 24 * time.Hour

// buckets returns takes from a limiter with buckets in memory, and from one that treats its store as a
// remote one.
func buckets() []*subject {
	ctx := context.Background()
	full, empty := bucketOf(bucket.PerSecond(unlimited), bucket.Hooks{}), emptyOf(bucket.Hooks{}, "key")
	withMetrics := newSDK().bucketHooks()
	fullMetrics, emptyMetrics := bucketOf(bucket.PerSecond(unlimited), withMetrics), emptyOf(withMetrics, "key")
	many := customerKeys() // in other limiters, so that the subjects of one key have a limiter with one key
	fullMany, emptyMany := bucketOf(bucket.PerSecond(unlimited), bucket.Hooks{}), emptyOf(bucket.Hooks{}, many...)
	guarded := bucket.Guard(full.Requester("key"), noopValue)
	return []*subject{
		{name: bucketGranted, pair: true, op: func() error { return ask(full, "key") }},
		{name: bucketDenied, pair: true, good: isDenied, op: func() error { return ask(empty, "key") }},
		{name: bucketGrantedMany, pair: true, op: func() error { return ask(fullMany, randomKey(many)) }},
		{name: bucketDeniedMany, pair: true, good: isDenied, op: func() error { return ask(emptyMany, randomKey(many)) }},
		{name: bucketGrantedMetrics, pair: true, op: func() error { return ask(fullMetrics, "key") }},
		{name: bucketDeniedMetrics, pair: true, good: isDenied, op: func() error { return ask(emptyMetrics, "key") }},
		{name: "bucket, DecideN of 5", pair: true, op: func() error { return answered(full.DecideN(ctx, "key", 5)) }},
		{name: "bucket, Guard", pair: true, op: func() error {
			_, err := guarded(ctx)
			return err
		}},
		{name: "bucket of a store, out of a lease", least: 0.99, pair: true, op: leaseHit()},
		{name: "bucket, Wait, uncontended", unlocked: true, op: func() error {
			if err := full.Wait(ctx, "key", 1); err != nil {
				return err
			}
			return noop(ctx)
		}},
	}
}

// leaseHit takes tokens of a lease of a hundred thousand, which is enough for many slices. A lease ends
// after a tenth of a second, so most slices fetch a new one while they warm up.
func leaseHit() func() error {
	l := bucket.Must(bucket.New(bucket.Config{
		Name: "bench", Limit: bucket.PerSecond(unlimited), Lease: 1e5, OnFailure: bucket.FailClosed,
		Store: &countedStore{Store: bucket.NewMemoryStore()}, StoreTimeout: time.Minute,
	}))
	return func() error {
		d, err := l.Decide(context.Background(), "key")
		if err == nil && d.Source != bucket.SourceLease {
			err = errNotGranted
		}
		if err != nil {
			return err
		}
		return noop(context.Background())
	}
}

// bucketOf returns a limiter to measure.
func bucketOf(l bucket.Limit, h bucket.Hooks) *bucket.Limiter {
	return bucket.Must(bucket.New(bucket.Config{Name: "bench", Limit: l, Hooks: h}))
}

// emptyOf returns a limiter to measure whose buckets are empty.
func emptyOf(h bucket.Hooks, keys ...string) *bucket.Limiter {
	l := bucketOf(bucket.Every(noRefill), h)
	for _, key := range keys {
		_ = ask(l, key)
	}
	return l
}

// ask takes a token of the bucket, and makes a call if it is granted.
func ask(l *bucket.Limiter, key string) error {
	return answered(l.Decide(context.Background(), key))
}

// answered makes a call if the decision allows it.
func answered(d bucket.Decision, err error) error {
	switch {
	case err != nil:
		return err
	case !d.Allowed:
		return errNotGranted
	}
	return noop(context.Background())
}

func isDenied(err error) bool { return errors.Is(err, errNotGranted) }

func customerKeys() []string {
	keys := make([]string, manyKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("customer-%04d", i)
	}
	return keys
}

// randomKey returns one of the keys. The choice costs a few nanoseconds of the figure. A shared counter
// instead would slow concurrent callers down.
func randomKey(keys []string) string { return keys[rand.Uint32()%manyKeys] }
