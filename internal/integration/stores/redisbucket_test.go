package stores_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

func redisBucket(t testing.TB, client redis.UniversalClient, name string) *redisstore.Bucket {
	t.Helper()
	store, err := redisstore.NewBucket(client, redisstore.BucketConfig{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// newRedisBucket is a server, a client, and a store of buckets called "b".
func newRedisBucket(t testing.TB, flags ...string) (*program.RedisServer, redis.UniversalClient, *redisstore.Bucket) {
	t.Helper()
	server := program.Redis(t, flags...)
	client := redisClient(t, server)
	return server, client, redisBucket(t, client, "b")
}

// slowly is a limit that gives nothing back while a test runs.
func slowly(capacity int64) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: 1, Period: 9 * time.Hour}
}

// redisBucketSteps are what is asked of a store, each in its simplest form.
func redisBucketSteps(s bucket.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"take": func(ctx context.Context) error {
			_, err := s.Take(ctx, bucket.Request{Key: "k", Limit: slowly(100), Min: 1, Max: 1})
			return err
		},
		"return": func(ctx context.Context) error { return s.Return(ctx, "k", slowly(100), 1) },
		"reset":  func(ctx context.Context) error { return s.Reset(ctx, "k") },
	}
}

func wantRedisTake(t testing.TB, s bucket.Store, key string, l bucket.Limit, n int64, allowed bool) bucket.Decision {
	t.Helper()
	d, err := s.Take(t.Context(), bucket.Request{Key: key, Limit: l, Min: n, Max: n})
	if err != nil || d.Allowed != allowed || allowed && d.Granted != n {
		t.Errorf("%.40q: take %d: got %+v, error %v want allowed %v", key, n, d, err, allowed)
	}
	return d
}

// TestRedisBucketDecides goes once round: taken, peeked at, denied, returned, reset, with both algorithms.
func TestRedisBucketDecides(t *testing.T) {
	server, client, store := newRedisBucket(t)
	for _, l := range []bucket.Limit{slowly(5), bucket.Limit{Capacity: 5, Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}.WithDefaults()} {
		key := l.Algorithm.String()
		if d := wantRedisTake(t, store, key, l, 0, true); d.Remaining != 5 || d.Limit != 5 || d.ResetAfter != 0 || client.DBSize(t.Context()).Val() != 0 {
			t.Errorf("%s: peek: got %+v want 5 of 5, and nothing written", key, d)
		}
		if d := wantRedisTake(t, store, key, l, 2, true); d.Remaining != 3 || d.ResetAfter <= 0 || d.Source != bucket.FromStore {
			t.Errorf("%s: got %+v want 3 left", key, d)
		}
		stored := client.Get(t.Context(), "spillway:bucket:b:"+key).Val()
		if d := wantRedisTake(t, store, key, l, 4, false); d.Remaining != 3 || d.RetryAfter <= 0 {
			t.Errorf("%s: denied: got %+v want 3 left, and when to come again", key, d)
		}
		if got := client.Get(t.Context(), "spillway:bucket:b:"+key).Val(); got != stored || got == "" {
			t.Errorf("%s: denied: got %q stored want %q still", key, got, stored)
		}
		d, err := store.Take(t.Context(), bucket.Request{Key: key, Limit: l, Min: 1, Max: 1 << 62})
		if err != nil || d.Granted != 3 || d.Remaining != 0 || d.RetryAfter <= 0 {
			t.Errorf("%s: at most very many: got %+v, error %v want 3", key, d, err)
		}
		if err := store.Return(t.Context(), key, l, 2); err != nil {
			t.Error(err)
		}
		wantRedisTake(t, store, key, l, 3, false)
		wantRedisTake(t, store, key, l, 2, true)
		if err := store.Return(t.Context(), key, l, 1<<62); err != nil || client.DBSize(t.Context()).Val() != 0 {
			t.Errorf("%s: return all: got error %v, %d keys want none", key, err, client.DBSize(t.Context()).Val())
		}
		wantRedisTake(t, store, key, l, 5, true)
		if err := store.Reset(t.Context(), key); err != nil {
			t.Error(err)
		}
		wantRedisTake(t, store, key, l, 5, true)
		server.Do(t, "FLUSHALL")
	}
}

// TestRedisBucketExpires wants a full bucket to leave nothing behind.
func TestRedisBucketExpires(t *testing.T) {
	_, client, store := newRedisBucket(t)
	wantRedisTake(t, store, "continuous", bucket.Every(5*time.Millisecond).WithDefaults(), 1, true)
	wantRedisTake(t, store, "fixed", bucket.Limit{Capacity: 1, Period: 5 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults(), 1, true)
	program.Eventually(t, "no keys are left", func() string {
		if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			return fmt.Sprint(keys)
		}
		return ""
	})
}

// TestRedisBucketKeysAreApart empties a bucket of every hostile key, on a cluster too.
func TestRedisBucketKeysAreApart(t *testing.T) {
	keys := append(hostileRedisNames(), "", ":", "b:", "k:b", "%7Bb%7D", "#", strings.Repeat("k", 128), strings.Repeat("k", 129),
		strings.Repeat("\xff", 1<<20), strings.Repeat("\xff", 1<<20)+"x")
	for kind, servers := range map[string][]*program.RedisServer{"plain": {program.Redis(t)}, "cluster": program.RedisCluster(t, 3)} {
		t.Run(kind, func(t *testing.T) {
			client := redisClient(t, servers...)
			for _, name := range []string{"b", "b:k", "{b}"} {
				store := redisBucket(t, client, name)
				for _, key := range keys {
					wantRedisTake(t, store, key, slowly(3), 3, true)
				}
				for _, key := range keys {
					wantRedisTake(t, store, key, slowly(3), 1, false)
					if err := store.Return(t.Context(), key, slowly(3), 1); err != nil {
						t.Error(err)
					}
				}
				for _, key := range keys {
					wantRedisTake(t, store, key, slowly(3), 1, true)
					wantRedisTake(t, store, key, slowly(3), 1, false)
				}
			}
			used := 0
			for _, s := range servers {
				if n, _ := s.Do(t, "DBSIZE").(int64); n > 0 {
					used++
				}
			}
			if used != len(servers) {
				t.Errorf("got buckets on %d servers want %d", used, len(servers))
			}
		})
	}
}

// TestRedisBucketSpeaksBothProtocols asks in the old protocol and in the new, and counts: a step is one command.
func TestRedisBucketSpeaksBothProtocols(t *testing.T) {
	server := program.Redis(t)
	for _, protocol := range []int{2, 3} {
		options := redisstore.Options(server.Address)
		options.Protocol = protocol
		client := redisClientWith(t, options)
		store := redisBucket(t, client, "b")
		wantRedisBucketWorks(t, store)
		counted := &redisTrips{}
		client.AddHook(counted)
		for name, step := range redisBucketSteps(store) {
			if err := step(t.Context()); err != nil {
				t.Errorf("protocol %d: %s: got error %v want none", protocol, name, err)
			}
			if commands, batches := counted.take(); commands != 1 || batches != 1 {
				t.Errorf("protocol %d: %s: got %d commands in %d round trips want one", protocol, name, commands, batches)
			}
		}
	}
}

// crowd asks for tokens with 64 goroutines on each of 3 handles, each until it has been denied so many times. It returns what was granted.
func crowd(t *testing.T, server *program.RedisServer, l bucket.Limit, atMost int64, denials int) int64 {
	t.Helper()
	var granted atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		store := redisBucket(t, redisClient(t, server), "b")
		for range 64 {
			all.Go(func() {
				for denied := 0; denied < denials; {
					d, err := store.Take(t.Context(), bucket.Request{Key: "hot", Limit: l, Min: 1, Max: atMost})
					if err != nil {
						t.Error(err)
						return
					}
					granted.Add(d.Granted)
					if !d.Allowed {
						denied++
					}
				}
			})
		}
	}
	all.Wait()
	return granted.Load()
}

// TestRedisBucketGrantsNotOneTooMany empties a bucket that does not fill again: exactly what was in it is granted.
func TestRedisBucketGrantsNotOneTooMany(t *testing.T) {
	server, _, _ := newRedisBucket(t)
	for _, l := range []bucket.Limit{slowly(9000), bucket.Limit{Capacity: 9000, Period: 366 * 24 * time.Hour, Algorithm: bucket.Fixed}.WithDefaults()} {
		for _, atMost := range []int64{1, 7} {
			server.Do(t, "FLUSHALL")
			if got := crowd(t, server, l, atMost, 1); got != 9000 {
				t.Errorf("%v, %d at most: got %d granted want 9000", l.Algorithm, atMost, got)
			}
		}
	}
}

// TestRedisBucketGrantsAllThatComesBack accounts for what is granted from a bucket that fills: by the server's clock, no more than there was,
// nothing lost, and 99 % of it used.
func TestRedisBucketGrantsAllThatComesBack(t *testing.T) {
	server, client, store := newRedisBucket(t)
	l := bucket.Limit{Capacity: 20_000, Refill: 1000, Period: time.Second}
	clock := func() time.Time { return client.Time(t.Context()).Val() }
	begin := clock()
	granted := wantRedisTake(t, store, "hot", l, 12_000, true).Granted // it does not get full again for twelve seconds
	begun := clock()
	granted += crowd(t, server, l, 5, 20)
	end := clock()
	left := wantRedisTake(t, store, "hot", l, 0, true).Remaining
	least, most := 20_000+int64(end.Sub(begun)/time.Millisecond), 20_000+int64(clock().Sub(begin)/time.Millisecond)+1
	t.Logf("granted %d, %d left, of %d to %d", granted, left, least, most)
	if granted+left > most || granted+left < least-1 || granted < least*99/100 {
		t.Errorf("got %d granted and %d left want 99 %% to 100 %% of %d to %d", granted, left, least, most)
	}
}
