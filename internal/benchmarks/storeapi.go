package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// The load of an API: some customers have most of the requests, and each has a limit.
const (
	apiCallers  = 200
	apiKeys     = 10_000
	apiExponent = 1.1
	apiRate     = 100 // per second and key, which is the capacity too
	apiLength   = 2 * time.Second
)

// api is one way to decide the requests of an API.
type api struct {
	take func(ctx context.Context, key int) (granted bool, err error)

	took   []time.Duration
	failed atomic.Int64 // not decided by the store
	grants [apiKeys]atomic.Int64
	length time.Duration
}

// apiLimiter takes by a limiter with the default settings, except that it grants nothing without its store.
func apiLimiter(t testing.TB, name string, s store.Store) *contender {
	l := bucket.Must(bucket.New(bucket.Config{Name: "api", Store: s, OnFailure: bucket.FailClosed, Limit: bucket.PerSecond(apiRate)}))
	t.Cleanup(func() { l.Close() })
	if err := l.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &contender{name: name, api: &api{take: func(ctx context.Context, key int) (bool, error) {
		d, err := l.Decide(ctx, fmt.Sprint("api ", key))
		return d.Allowed, err
	}}}
}

// apiRedisRate takes by redis_rate.
func apiRedisRate(client redis.UniversalClient) *contender {
	rates := redis_rate.NewLimiter(client)
	return &contender{name: redisRate, api: &api{take: func(ctx context.Context, key int) (bool, error) {
		result, err := rates.Allow(ctx, fmt.Sprint("api ", key), redis_rate.PerSecond(apiRate))
		return err == nil && result.Allowed > 0, err
	}}}
}

// apiRoundTrip does nothing but a round trip.
func apiRoundTrip(name string, trip func(context.Context) error) *contender {
	return &contender{name: name, api: &api{take: func(ctx context.Context, _ int) (bool, error) { return false, trip(ctx) }}}
}

// popularity returns the sums of the shares of the keys, by Zipf's law.
func popularity() []float64 {
	sums, sum := make([]float64, apiKeys), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -apiExponent)
		sums[i] = sum
	}
	return sums
}

// measure lets all callers take at once, each the next token as soon as it has an answer.
func (a *api) measure() {
	sums, begun := popularity(), time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range apiCallers {
		all.Go(func() {
			var took []time.Duration
			for time.Since(begun) < apiLength {
				key := sort.SearchFloat64s(sums, rand.Float64()*sums[apiKeys-1])
				asked := time.Now()
				granted, err := a.take(context.Background(), key)
				took = append(took, time.Since(asked))
				switch {
				case err != nil:
					a.failed.Add(1)
				case granted:
					a.grants[key].Add(1)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			a.took = append(a.took, took...)
		})
	}
	all.Wait()
	a.length = time.Since(begun)
	slices.Sort(a.took)
}

// above returns the share of the grants that were above the limit of their key.
func (a *api) above() float64 {
	most, all, above := int64(apiRate+math.Ceil(apiRate*a.length.Seconds())), int64(0), int64(0)
	for i := range a.grants {
		n := a.grants[i].Load()
		all += n
		above += max(0, n-most)
	}
	return float64(above) / float64(max(all, 1))
}

// apiTables measures each API once, and returns the table, if there is one.
func apiTables(ctx context.Context, all []*contender, p *progress) []table {
	t := table{
		heading: fmt.Sprintf("spillway, an API: %d callers of %d keys (Zipf %v), each limited to %d/s", apiCallers, apiKeys, apiExponent, apiRate),
		rows:    [][]string{{"one token", "takes/s", "p50 ms", "p99 ms", "not decided", "granted above the limit"}},
	}
	for _, c := range all {
		if c.api != nil && ctx.Err() == nil {
			p.print(c.name)
			c.api.measure()
			t.rows = append(t.rows, append([]string{c.name}, c.api.row()...))
		}
	}
	if len(t.rows) == 1 {
		return nil
	}
	return []table{t}
}

// row returns the figures of an API.
func (a *api) row() []string {
	n := float64(len(a.took))
	ms := func(q float64) string { return figure("%.2f", a.took[int(q*(n-1))].Seconds()*1e3) }
	return []string{figure("%.0f", n/a.length.Seconds()), ms(0.5), ms(0.99), percent(float64(a.failed.Load()) / n), percent(a.above())}
}
