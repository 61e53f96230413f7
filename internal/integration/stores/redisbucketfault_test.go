package stores_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// redisBucketKey is where the bucket "k" of the store "b" is.
const redisBucketKey = "spillway:bucket:b:k"

// wantRedisBucketWorks waits until every step succeeds.
func wantRedisBucketWorks(t *testing.T, s bucket.Store) {
	t.Helper()
	for name, step := range redisBucketSteps(s) {
		program.Eventually(t, name+" works", func() string {
			if err := step(t.Context()); err != nil {
				return err.Error()
			}
			return ""
		})
	}
}

// TestRedisBucketLost wants what was flushed, or lost by a crash, to be full buckets.
func TestRedisBucketLost(t *testing.T) {
	server, _, store := newRedisBucket(t)
	wantRedisTake(t, store, "k", slowly(3), 3, true)
	wantRedisTake(t, store, "k", slowly(3), 1, false)
	server.Do(t, "FLUSHALL")
	if err := store.Return(t.Context(), "k", slowly(3), 1); err != nil {
		t.Errorf("Return: got error %v want none", err)
	}
	wantRedisTake(t, store, "k", slowly(3), 3, true)
	server.Do(t, "SCRIPT", "FLUSH")
	wantRedisTake(t, store, "k", slowly(3), 1, false)
	server.Kill(t)
	for name, step := range redisBucketSteps(store) {
		if err := step(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "redisstore: "+name+": "+redisBucketKey+": ") {
			t.Errorf("%s: got error %v from nobody want redisstore: %s: and the key", name, err, name)
		}
	}
	server.Restart(t)
	wantRedisBucketWorks(t, store)
	wantRedisTake(t, store, "new", slowly(3), 3, true)
}

// TestRedisBucketFrozen wants every step to end with its context, though sockets have all the patience in the world.
func TestRedisBucketFrozen(t *testing.T) {
	server := program.Redis(t)
	options := redisstore.Options(server.Address)
	options.ReadTimeout, options.WriteTimeout, options.PoolTimeout, options.DialTimeout = -1, -1, time.Hour, time.Hour
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store := redisBucket(t, client, "b")
	wantRedisBucketWorks(t, store)
	server.Freeze(t)
	for range 3 {
		for name, step := range redisBucketSteps(store) {
			wantRedisEnds(t, name, step)
		}
	}
	server.Thaw(t)
	wantRedisBucketWorks(t, store)
}

// TestRedisBucketCorrupt wants a level that nobody can have written to be a full bucket, and a key of somebody else's an error.
func TestRedisBucketCorrupt(t *testing.T) {
	server, client, store := newRedisBucket(t)
	for _, level := range []string{
		"", " ", "x", "1", "9000000000000000000", "9000000000000000000 ", "9000000000000000000 x", "9000000000000000000 1 2", "-1 1",
		"09000000000000000000 1", "9223372036854775808 1", "9000000000000000000 9223372036854775808", "99999999999999999999 1", "1e18 1",
		"9e18 0", "0x7fffffffffffffff 0", "nan nan", "9000000000000000000 1\n", "\x00", "\xff", strings.Repeat("9", 400) + " 1",
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
	server.Do(t, "SET", redisBucketKey, "9223372036854775807 9223372036854775807") // of a clock that was far ahead
	if d := wantRedisTake(t, store, "k", slowly(3), 1, false); d.RetryAfter != 9*time.Hour {
		t.Errorf("got %+v want to be kept waiting for as long as by an empty bucket", d)
	}
	client.Del(t.Context(), redisBucketKey)
	server.Do(t, "LPUSH", redisBucketKey, "mine")
	for name, step := range redisBucketSteps(store) {
		if name == "reset" {
			continue
		}
		if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || !strings.Contains(err.Error(), redisBucketKey) {
			t.Errorf("%s: got error %v want WRONGTYPE and the key", name, err)
		}
	}
}

// TestRedisBucketFull wants a server without memory to grant nothing, and to tell still what is left.
func TestRedisBucketFull(t *testing.T) {
	server, _, store := newRedisBucket(t)
	wantRedisTake(t, store, "k", slowly(3), 2, true)
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	_, err := store.Take(t.Context(), bucket.Request{Key: "k", Limit: slowly(3), Min: 1, Max: 1})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Take: got error %v want OOM", err)
	}
	if d := wantRedisTake(t, store, "k", slowly(3), 0, true); d.Remaining != 1 {
		t.Errorf("peek: got %+v want one left", d)
	}
	wantRedisTake(t, store, "k", slowly(3), 2, false)
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	wantRedisTake(t, store, "k", slowly(3), 1, true)
}

// TestRedisBucketRights takes a user who may do what the documentation lists and no more.
func TestRedisBucketRights(t *testing.T) {
	server := program.Redis(t)
	user := []any{"ACL", "SETUSER", "u", "on", ">secret", "~spillway:bucket:*", "resetchannels"}
	for right := range strings.FieldsSeq("+@connection +eval +evalsha +time +get +set +del") {
		user = append(user, right)
	}
	server.Do(t, user...)
	options := redisstore.Options(server.Address)
	options.Username, options.Password = "u", "secret"
	store := redisBucket(t, redisClientWith(t, options), "b")
	wantRedisBucketWorks(t, store)
	wantRedisTake(t, store, "other", slowly(3), 3, true)
	if err := store.Return(t.Context(), "other", slowly(3), 3); err != nil {
		t.Errorf("Return: got error %v want none", err)
	}
}
