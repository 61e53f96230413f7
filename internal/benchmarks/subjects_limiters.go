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
	peerRate        = "x/time rate"
	peerRateMany    = "x/time rate, 1,024 keys behind a lock"
	peerGoLimiter   = "go-limiter memorystore"
	peerThrottled   = "throttled memstore"
	peerRateRefused = "x/time rate, shed"
)

// limiters are peers that have buckets by key, in memory, and do not block. Those of x/time/rate have no keys: what a program that needs some
// writes around them is a map.
func limiters() []*subject {
	return []*subject{
		rateByKey(),
		// v0.7.1 fills up at the end of an interval only, and of this many tokens in a second it would bring back one.
		goLimiter(peerGoLimiter, memorystore.Config{Tokens: plenty, Interval: never}, nil),
		goLimiter(peerGoLimiter+", shed", memorystore.Config{Tokens: 1, Interval: never}, refused),
		throttledBy(peerThrottled, throttled.RateQuota{MaxRate: throttled.PerSec(plenty), MaxBurst: plenty}, nil),
		throttledBy(peerThrottled+", shed", throttled.RateQuota{MaxRate: throttled.PerDuration(1, never)}, refused),
	}
}

// rateByKey makes calls through one of many of x/time's buckets.
func rateByKey() *subject {
	ctx, keys, byKey := context.Background(), someKeys(), map[string]*rate.Limiter{}
	var mu sync.Mutex
	of := func(key string) *rate.Limiter {
		mu.Lock()
		defer mu.Unlock()
		l := byKey[key]
		if l == nil {
			l = rate.NewLimiter(plenty, plenty)
			byKey[key] = l
		}
		return l
	}
	return &subject{name: peerRateMany, pair: true, op: func() error {
		if !of(drawn(keys)).Allow() {
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

// throttledBy is a bucket of throttled. It compares and swaps up to ten times, and gives an error then, so two processors may get some.
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
