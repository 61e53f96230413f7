package main

import (
	"context"
	"sync"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"golang.org/x/time/rate"
)

// The peers that buckets in memory are compared with.
const (
	peerRate      = "x/time rate"
	peerRateMany  = "x/time rate, 1,024 keys behind a lock"
	peerGoLimiter = "go-limiter memorystore"
	peerThrottled = "throttled memstore"
	peerRateShed  = "x/time rate, shed"
)

// limiters returns the peers with buckets by key, in memory, that do not block. x/time/rate has no keys,
// so its limiters are in a map, as in a program that needs keys.
func limiters() []*subject {
	return []*subject{
		rateByKey(),
		// v0.7.1 refills at the end of an interval only. With this many tokens a second it would add one.
		goLimiter(peerGoLimiter, memorystore.Config{Tokens: unlimited, Interval: noRefill}, nil),
		goLimiter(peerGoLimiter+", shed", memorystore.Config{Tokens: 1, Interval: noRefill}, refused),
		throttledBy(peerThrottled, throttled.RateQuota{MaxRate: throttled.PerSec(unlimited), MaxBurst: unlimited}, nil),
		throttledBy(peerThrottled+", shed", throttled.RateQuota{MaxRate: throttled.PerDuration(1, noRefill)}, refused),
	}
}

// rateByKey makes calls through a map of x/time/rate's limiters.
func rateByKey() *subject {
	ctx, keys, byKey := context.Background(), customerKeys(), map[string]*rate.Limiter{}
	var mu sync.Mutex
	of := func(key string) *rate.Limiter {
		mu.Lock()
		defer mu.Unlock()
		l := byKey[key]
		if l == nil {
			l = rate.NewLimiter(unlimited, unlimited)
			byKey[key] = l
		}
		return l
	}
	return &subject{name: peerRateMany, pair: true, op: func() error {
		if !of(randomKey(keys)).Allow() {
			return errShed
		}
		return noop(ctx)
	}}
}

func goLimiter(name string, c memorystore.Config, good func(error) bool) *subject {
	store, err := memorystore.New(&c)
	if err != nil {
		panic(err)
	}
	op := goLimited(store)
	_ = op()
	return &subject{name: name, pair: true, good: good, op: op}
}

func goLimited(store limiter.Store) func() error {
	ctx := context.Background()
	return func() error {
		_, _, _, ok, err := store.Take(ctx, "key")
		switch {
		case err != nil:
			return err
		case !ok:
			return errShed
		}
		return noop(ctx)
	}
}

// throttledBy returns a bucket of throttled. It gives up with an error after ten failed compare-and-swap
// operations, so two processors may get errors.
func throttledBy(name string, quota throttled.RateQuota, good func(error) bool) *subject {
	ctx := context.Background()
	store, err := memstore.NewCtx(0)
	if err != nil {
		panic(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		panic(err)
	}
	op := func() error {
		limited, _, err := l.RateLimitCtx(ctx, "key", 1)
		switch {
		case err != nil:
			return err
		case limited:
			return errShed
		}
		return noop(ctx)
	}
	_ = op()
	return &subject{name: name, pair: true, good: good, op: op}
}
