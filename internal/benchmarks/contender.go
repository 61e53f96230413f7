package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// The ways to take a token from a store.
const (
	coalesced = "coalesced"
	oneByOne  = "one by one"
	leased    = "leased, 1,000 ahead"
)

// callers is the number of goroutines that take tokens of one bucket at once. The bucket has enough
// tokens for all of them.
const (
	callers  = 64
	capacity = 1e9
	refill   = 1e6
)

// contender is a way to take one token from a store.
type contender struct {
	name        string
	unavailable string // why it is not measured; empty if it is

	take  func(context.Context) error
	calls func() uint64 // store calls so far; nil if each take is one call

	rates, callRates []float64 // takes and store calls per second, of each slice with many callers
	cost             []float64 // CPU time of this process per take, in us, of each of those slices
	alone            []float64 // latency of each take of a single caller, in us

	asked, granted uint64
	failed         sync.Once
	failure        string // the first error
}

func limiterWays(t testing.TB, engine string, store store.Store) []*contender {
	return []*contender{
		viaLimiter(t, engine+", "+coalesced, store, bucket.Config{}, nil),
		viaLimiter(t, engine+", "+oneByOne, store, bucket.Config{OneByOne: true}, nil),
	}
}

// viaLimiter returns a contender that takes tokens through a limiter, of one key if key is nil. The limiter grants none
// without its store, and its timeout is longer than any pause of the machine.
func viaLimiter(t testing.TB, name string, s store.Store, c bucket.Config, key func() string) *contender {
	if key == nil {
		key = func() string { return name }
	}
	var calls atomic.Uint64
	c.Name, c.Store, c.StoreTimeout, c.OnFailure = "bench", s, time.Minute, bucket.FailClosed
	c.Hooks.StoreCalled = func(context.Context, bucket.StoreEvent) { calls.Add(1) }
	c.Limit = bucket.Limit{Capacity: capacity, Refill: refill, Period: time.Second}
	l := bucket.Must(bucket.New(c))
	t.Cleanup(func() { l.Close() })
	return &contender{name: name, calls: calls.Load, take: func(ctx context.Context) error {
		d, err := l.Decide(ctx, key())
		if err == nil && !d.Allowed {
			err = errNotGranted
		}
		return err
	}}
}

// ask takes a token and reports whether it was granted.
func (c *contender) ask(ctx context.Context) bool {
	err := c.take(ctx)
	if err != nil {
		c.failed.Do(func() { c.failure = err.Error() })
	}
	return err == nil
}

// slicesOf returns one slice of each kind for each contender that can be measured, in random order.
func slicesOf(all []*contender) []func() {
	var some []func()
	for _, c := range all {
		if c.unavailable == "" {
			some = append(some, c.measureMany, c.measureOne)
		}
	}
	rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

// measureMany measures a slice with many callers. Each takes the next token as soon as it has one.
func (c *contender) measureMany() {
	_ = c.ask(context.Background()) // connects and writes the first row
	var over atomic.Bool
	var asked, granted atomic.Uint64
	var all sync.WaitGroup
	calls, cost, begun := c.storeCalls(), processorTime(), time.Now()
	for range callers {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background()) // as requests have
			defer cancel()
			n, good := uint64(0), uint64(0)
			for ; !over.Load(); n++ {
				if c.ask(ctx) {
					good++
				}
			}
			asked.Add(n)
			granted.Add(good)
		})
	}
	time.Sleep(manyLength)
	over.Store(true)
	all.Wait()
	took, n := time.Since(begun).Seconds(), float64(asked.Load())
	c.rates = append(c.rates, n/took)
	sent := n
	if c.calls != nil {
		sent = float64(c.storeCalls() - calls)
	}
	c.callRates = append(c.callRates, sent/took)
	c.cost = append(c.cost, (processorTime()-cost).Seconds()*1e6/n)
	c.asked += asked.Load()
	c.granted += granted.Load()
}

func (c *contender) measureOne() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_ = c.ask(ctx)
	for begun := time.Now(); time.Since(begun) < oneLength; c.asked++ {
		asked := time.Now()
		if c.ask(ctx) {
			c.granted++
		}
		c.alone = append(c.alone, time.Since(asked).Seconds()*1e6)
	}
}

// storeCalls returns the number of store calls so far, or 0 if they are not counted.
func (c *contender) storeCalls() uint64 {
	if c.calls == nil {
		return 0
	}
	return c.calls()
}

func (c *contender) finish() {
	for _, sample := range [][]float64{c.rates, c.callRates, c.cost, c.alone} {
		slices.Sort(sample)
	}
}
