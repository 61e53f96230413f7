package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// The names of what is asked of a bucket in memory.
const (
	bucketGranted     = "bucket, granted"
	bucketDenied      = "bucket, denied"
	bucketGrantedMany = "bucket, granted, 1,024 keys"
	bucketDeniedMany  = "bucket, denied, 1,024 keys"

	bucketGrantedTold = "bucket, granted, metrics on"
	bucketDeniedTold  = "bucket, denied, metrics on"
)

// manyKeys is a power of two, so that one of them is quickly drawn.
const manyKeys = 1024

var errNotGranted = errors.New("not granted")

// never is longer than any run: what is taken does not come back.
const never = 300 * 24 * time.Hour

// buckets are questions to a limiter whose buckets are in this process, and to one that takes its store for a remote one.
func buckets() []*subject {
	ctx := context.Background()
	full, empty := bucketOf(bucket.PerSecond(plenty), bucket.Hooks{}), emptyOf(bucket.Hooks{}, "key")
	told := newSDK().bucketHooks()
	fullTold, emptyTold := bucketOf(bucket.PerSecond(plenty), told), emptyOf(told, "key")
	many := someKeys() // in limiters of their own: those of one key would be looked for among them
	fullMany, emptyMany := bucketOf(bucket.PerSecond(plenty), bucket.Hooks{}), emptyOf(bucket.Hooks{}, many...)
	guarded := bucket.Guard(full.Requester("key"), noopValue)
	return []*subject{
		{name: bucketGranted, pair: true, op: func() error { return ask(full, "key") }},
		{name: bucketDenied, pair: true, good: isDenied, op: func() error { return ask(empty, "key") }},
		{name: bucketGrantedMany, pair: true, op: func() error { return ask(fullMany, drawn(many)) }},
		{name: bucketDeniedMany, pair: true, good: isDenied, op: func() error { return ask(emptyMany, drawn(many)) }},
		{name: bucketGrantedTold, pair: true, op: func() error { return ask(fullTold, "key") }},
		{name: bucketDeniedTold, pair: true, good: isDenied, op: func() error { return ask(emptyTold, "key") }},
		{name: "bucket, DecideN of 5", pair: true, op: func() error { return answered(full.DecideN(ctx, "key", 5)) }},
		{name: "bucket, Guard", pair: true, op: func() error {
			_, err := guarded(ctx)
			return err
		}},
		{name: "bucket of a store, out of a lease", least: 0.99, pair: true, op: leaseHit()},
		{name: "bucket, Wait, uncontended", loose: true, op: func() error {
			if err := full.Wait(ctx, "key", 1); err != nil {
				return err
			}
			return noop(ctx)
		}},
	}
}

// leaseHit takes tokens that were fetched ahead, a hundred thousand at a time, which last for many slices; but they do so for a tenth of a
// second only, so that most slices fetch some while they warm up.
func leaseHit() func() error {
	l := bucket.Must(bucket.New(bucket.Config{
		Name: "bench", Limit: bucket.PerSecond(plenty), Lease: 1e5, OnFailure: bucket.FailClosed,
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

// bucketOf is a limiter to be measured.
func bucketOf(l bucket.Limit, h bucket.Hooks) *bucket.Limiter {
	return bucket.Must(bucket.New(bucket.Config{Name: "bench", Limit: l, Hooks: h}))
}

// emptyOf is a limiter to be measured of which all is taken.
func emptyOf(h bucket.Hooks, keys ...string) *bucket.Limiter {
	l := bucketOf(bucket.Every(never), h)
	for _, key := range keys {
		_ = ask(l, key)
	}
	return l
}

// ask makes a call if a token of the bucket is granted.
func ask(l *bucket.Limiter, key string) error {
	return answered(l.Decide(context.Background(), key))
}

// answered makes a call if the answer lets it through.
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

func someKeys() []string {
	keys := make([]string, manyKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("customer-%04d", i)
	}
	return keys
}

// drawn is one of the keys. The draw is part of what is measured, a few nanoseconds: callers that count would meet at their count.
func drawn(keys []string) string { return keys[rand.Uint32()%manyKeys] }
