package stores_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

func redisBucket(client redis.UniversalClient, name string) *redisstore.Bucket {
	return throttle.Must(redisstore.NewBucket(client, redisstore.BucketConfig{Name: name}))
}

// newRedisBucket returns a server, a client, and a bucket store with the name "b".
func newRedisBucket(t testing.TB) (*program.RedisServer, redis.UniversalClient, *redisstore.Bucket) {
	t.Helper()
	server := program.Redis(t)
	client := redisClient(t, server)
	return server, client, redisBucket(client, "b")
}

// slowly returns a limit that refills nothing while a test runs.
func slowly(capacity int64) bucket.Limit {
	return bucket.Limit{Capacity: capacity, Refill: 1, Period: 9 * time.Hour}
}

func wantRedisTake(t testing.TB, s store.Store, key string, l bucket.Limit, n int64, allowed bool) bucket.Decision {
	t.Helper()
	d, err := s.Take(t.Context(), store.Request{Key: key, Limit: l, Min: n, Max: n})
	if err != nil || d.Allowed != allowed || allowed && d.Granted != n {
		t.Errorf("%.40q: take %d: got %+v, error %v want allowed %v", key, n, d, err, allowed)
	}
	return d
}

// TestRedisBucket_Expires checks that a full bucket leaves no key, whether it has filled up or was
// never used.
func TestRedisBucket_Expires(t *testing.T) {
	_, client, store := newRedisBucket(t)
	wantRedisTake(t, store, "peek", slowly(5), 0, true)
	wantRedisTake(t, store, "continuous", bucket.Every(5*time.Millisecond).WithDefaults(), 1, true)
	wantRedisTake(t, store, "fixed", bucket.Limit{Capacity: 1, Period: 5 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults(), 1, true)
	wantRedisTake(t, store, "returned", slowly(5), 5, true)
	if err := store.Return(t.Context(), "returned", slowly(5), 1<<62); err != nil {
		t.Error(err)
	}
	program.Eventually(t, "no keys are left", func() string {
		if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			return fmt.Sprint(keys)
		}
		return ""
	})
}

// TestRedisBucket_LongFill checks that the key of a bucket that takes years to fill does not expire
// earlier.
func TestRedisBucket_LongFill(t *testing.T) {
	const year = 366 * 24 * time.Hour
	_, client, store := newRedisBucket(t)
	for name, l := range map[string]bucket.Limit{
		"ten years":    {Capacity: 10, Refill: 1, Period: year},
		"in small":     {Capacity: int64(10 * year), Refill: 1000, Period: time.Microsecond},
		"a fixed year": {Capacity: 7, Period: year, Algorithm: bucket.Fixed},
		"hours":        slowly(3),
	} {
		for range 2 {
			before := client.Time(t.Context()).Val()
			d := wantRedisTake(t, store, name, l.WithDefaults(), l.Capacity/3, true)
			after := client.Time(t.Context()).Val()
			at, err := client.Do(t.Context(), "PEXPIRETIME", "spillway:bucket:b:"+url.QueryEscape(name)).Int64()
			first, last := before.Add(d.ResetAfter).UnixMilli(), after.Add(d.ResetAfter).UnixMilli()+1
			if err != nil || at < first || at > last {
				t.Errorf("%s: got to expire at %d, error %v want %d to %d", name, at, err, first, last)
			}
		}
	}
}

// redisBucketKey is the key of the bucket "k" of the store "b".
const redisBucketKey = "spillway:bucket:b:k"

// TestRedisBucket_Corrupt checks that an invalid level counts as a full bucket.
func TestRedisBucket_Corrupt(t *testing.T) {
	server, _, store := newRedisBucket(t)
	const c, f = " c32400000000000 3 0 0", " f32400000000000 3 1 0"
	for _, level := range []string{
		"", " ", "x", "1", "9000000000000000000", "9000000000000000000 ", "9000000000000000000 x", "9000000000000000000 3", "1" + c, "-1" + f,
		"9000000000000000000 c3", "9000000000000000000 c0 3 0 0", "9000000000000000000 f3 0 1 0", "9000000000000000000 x3 3 1 0", "9000000000000000000" + c + " 0",
		"9000000000000000000 c3 3 1 0", "9000000000000000000 c3 -3 0 0", "9000000000000000000 f3 3 99999999999999999999 0", "90000000000000000000" + c,
		"nan nan", "9000000000000000000" + f + "\n", "\x00", "\xff", strings.Repeat("9", 400) + " 1",
	} {
		for _, algorithm := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
			l := slowly(3)
			l.Algorithm = algorithm
			server.Do(t, "SET", redisBucketKey, level)
			if err := store.Return(t.Context(), "k", l.WithDefaults(), 1); err != nil {
				t.Errorf("%.40q: Return: got error %v want none", level, err)
			}
			wantRedisTake(t, store, "k", l.WithDefaults(), 3, true)
		}
	}
	server.Do(t, "SET", redisBucketKey, "9223372036854775807"+c) // of a clock that was far ahead
	if d := wantRedisTake(t, store, "k", slowly(3), 1, false); d.RetryAfter != 9*time.Hour {
		t.Errorf("got %+v want the RetryAfter of an empty bucket", d)
	}
}

// TestRedisBucket_Full checks that a server without memory grants nothing, and still answers how many
// tokens are left.
func TestRedisBucket_Full(t *testing.T) {
	server, _, backing := newRedisBucket(t)
	wantRedisTake(t, backing, "k", slowly(3), 2, true)
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	_, err := backing.Take(t.Context(), store.Request{Key: "k", Limit: slowly(3), Min: 1, Max: 1})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Take: got error %v want OOM", err)
	}
	if d := wantRedisTake(t, backing, "k", slowly(3), 0, true); d.Remaining != 1 {
		t.Errorf("peek: got %+v want one left", d)
	}
	wantRedisTake(t, backing, "k", slowly(3), 2, false)
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	wantRedisTake(t, backing, "k", slowly(3), 1, true)
}

// TestRedisBucket_Permissions runs with a user that has only the documented permissions.
func TestRedisBucket_Permissions(t *testing.T) {
	client := redisUser(t, program.Redis(t), "u", "+@connection +eval +evalsha +time +get +set +del", "~spillway:bucket:*", "resetchannels")
	store := redisBucket(client, "b")
	bucketSteps(store).wantWorks(t)
	wantRedisTake(t, store, "other", slowly(3), 3, true)
	if err := store.Return(t.Context(), "other", slowly(3), 3); err != nil {
		t.Errorf("Return: got error %v want none", err)
	}
}

// TestRedisBucket_LostNode kills one of three nodes. The keys of the other nodes must be decided by
// the store as before.
func TestRedisBucket_LostNode(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	store := redisBucket(redisClient(t, servers...), "b")
	l := bucket.Must(bucket.New(bucket.Config{
		Name: "b", Store: store, Limit: bucket.PerSecond(1e6), StoreTimeout: 400 * time.Millisecond, // the machine is busy with other tests
	}))
	defer l.Close()
	must(t, l.Warm(t.Context()))
	lost := map[string]bool{}
	for i := range 300 {
		key := strconv.Itoa(i)
		lost[key] = store.Part(key) == servers[1].Address
	}
	servers[1].Kill(t)
	var counts [2][2]atomic.Int64 // of keys of healthy nodes and of the lost one, those of the policy and of the store
	index := map[bool]int{true: 1}
	var all sync.WaitGroup
	for i := range 6000 {
		key := strconv.Itoa(i % len(lost))
		all.Go(func() {
			d, err := l.Decide(t.Context(), key)
			if err != nil {
				t.Errorf("key %s: %v", key, err)
			}
			counts[index[lost[key]]][index[d.Source == bucket.SourceStore]].Add(1)
		})
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	byPolicy, byStore, lostByStore := counts[0][0].Load(), counts[0][1].Load(), counts[1][1].Load()
	if byStore == 0 || byPolicy*100 > byStore || lostByStore > 0 {
		t.Errorf("healthy nodes: %d by the store, %d by the policy want 99 %%; lost node: %d by the store want none", byStore, byPolicy, lostByStore)
	}
}
