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

// The ways to ask a store.
const (
	coalesced = "coalesced"
	oneByOne  = "one by one"
	leased    = "leased, 1,000 ahead"
)

// callers is how many ask at once for tokens of one bucket, which has so many that all are granted.
const (
	callers  = 64
	capacity = 1e9
	refill   = 1e6
)

// contender is a way to ask a store for one token.
type contender struct {
	name  string
	lacks string // why it is not measured

	take  func(context.Context) error
	calls func() uint64 // how often the store was asked so far; nil if each take asks it

	rates, trips []float64 // takes and questions to the store per second, of each slice with many callers
	cost         []float64 // what a take costs this process, in us of its processors, of each of them
	alone        []float64 // how long a take lasts for a single caller, in us

	asked, granted uint64
	failed         sync.Once
	failure        string // the first
}

// bothWays are the ways of a limiter.
func bothWays(t testing.TB, engine string, store store.Store) []*contender {
	return []*contender{
		asking(t, engine+", "+coalesced, store, bucket.Config{}),
		asking(t, engine+", "+oneByOne, store, bucket.Config{OneByOne: true}),
	}
}

// asking asks through a limiter that waits long enough, and grants nothing by itself.
func asking(t testing.TB, name string, store store.Store, c bucket.Config) *contender {
	counted := &countedStore{Store: store}
	c.Name, c.Store, c.StoreTimeout, c.OnFailure = "bench", counted, time.Minute, bucket.FailClosed
	c.Limit = bucket.Limit{Capacity: capacity, Refill: refill, Period: time.Second}
	l := bucket.Must(bucket.New(c))
	t.Cleanup(func() { l.Close() })
	return &contender{name: name, calls: counted.calls.Load, take: func(ctx context.Context) error {
		d, err := l.Decide(ctx, name)
		if err == nil && !d.Allowed {
			err = errNotGranted
		}
		return err
	}}
}

// countedStore counts how often it is asked. A limiter asks it as a remote one, whatever is behind it.
type countedStore struct {
	store.Store

	calls atomic.Uint64
}

// Take counts.
func (s *countedStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	s.calls.Add(1)
	return s.Store.Take(ctx, r)
}

// ask takes a token, and reports whether it was granted.
func (c *contender) ask(ctx context.Context) bool {
	err := c.take(ctx)
	if err != nil {
		c.failed.Do(func() { c.failure = err.Error() })
	}
	return err == nil
}

// slicesOf are one slice of each kind for all that can be measured, in an order drawn anew.
func slicesOf(all []*contender) []func() {
	var some []func()
	for _, c := range all {
		if c.lacks == "" {
			some = append(some, c.rush, c.stroll)
		}
	}
	rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

// rush is a slice with many callers, each of which asks again as soon as it has its answer.
func (c *contender) rush() {
	_ = c.ask(context.Background()) // connects, and writes the first row
	var over atomic.Bool
	var asked, granted atomic.Uint64
	var all sync.WaitGroup
	calls, cost, begun := c.questions(), processorTime(), time.Now()
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
	time.Sleep(rushLength)
	over.Store(true)
	all.Wait()
	took, n := time.Since(begun).Seconds(), float64(asked.Load())
	c.rates = append(c.rates, n/took)
	if c.calls != nil {
		c.trips = append(c.trips, float64(c.questions()-calls)/took)
	}
	c.cost = append(c.cost, (processorTime()-cost).Seconds()*1e6/n)
	c.asked += asked.Load()
	c.granted += granted.Load()
}

// stroll is a slice with one caller.
func (c *contender) stroll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_ = c.ask(ctx)
	for begun := time.Now(); time.Since(begun) < aloneLength; c.asked++ {
		asked := time.Now()
		if c.ask(ctx) {
			c.granted++
		}
		c.alone = append(c.alone, time.Since(asked).Seconds()*1e6)
	}
}

// questions is how often the store was asked so far.
func (c *contender) questions() uint64 {
	if c.calls == nil {
		return 0
	}
	return c.calls()
}

// settle sorts what was measured.
func (c *contender) settle() {
	for _, sample := range [][]float64{c.rates, c.trips, c.cost, c.alone} {
		slices.Sort(sample)
	}
}
