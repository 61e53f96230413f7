package stores_test

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
	bucketstore "github.com/spillway-go/spillway/throttle/bucket/store"
)

// wantRedisRefused checks that these steps fail with the server's error, and that the others succeed.
func wantRedisRefused(t *testing.T, s breakerstore.Store, words string, refused ...string) {
	t.Helper()
	for name, step := range breakerSteps(s) {
		err := step(t.Context())
		if !slices.Contains(refused, name) {
			if err != nil {
				t.Errorf("%s: got error %v want none", name, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "redisstore: "+name+": spillway:breaker:{b/") || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got error %v want redisstore: %s: the key, %s", name, err, name, words)
		}
	}
}

func TestRedis_Restarted(t *testing.T) {
	server, _, store := newRedis(t)
	before := writeRedis(t, store, 9, "old")
	server.Kill(t)
	for name, step := range breakerSteps(store) {
		if err := step(t.Context()); err == nil {
			t.Errorf("%s: got no error without a server", name)
		}
	}
	server.Restart(t)
	breakerSteps(store).wantWorks(t)
	if after := writeRedis(t, store, 9, "new"); after.Epoch <= before.Epoch || after.Number != 1 {
		t.Errorf("Apply: got version %v want number 1 of a later epoch than %d", after, before.Epoch)
	}
}

// TestRedis_Failover promotes a replica that lacks the last write.
func TestRedis_Failover(t *testing.T) {
	first, _, store := newRedis(t)
	kept := writeRedis(t, store, 9, "kept")
	lease, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	second := program.RedisReplica(t, first)
	after := redisStore(redisClient(t, second), "b")
	wantRedisRefused(t, after, "READONLY", "campaign", "apply", "probe")
	wantRedisRecord(t, after, 9, "kept")

	second.Do(t, "REPLICAOF", "NO", "ONE")
	lost := writeRedis(t, store, 9, "lost")
	if got := readRedis(t, after, 9).Version; got != kept {
		t.Errorf("version: got %v want %v, from before the failover", got, kept)
	}
	if _, err := after.Apply(t.Context(), breakerstore.Batch{Shard: 9, Expect: lost}); !errors.Is(err, breakerstore.ErrConflict) {
		t.Errorf("Apply to what is lost: got error %v want %v", err, breakerstore.ErrConflict)
	}
	writeRedis(t, after, 9, "again")
	if got, err := after.Campaign(t.Context(), breakerstore.Candidate{Owner: "other", TTL: time.Hour}); err != nil || got.Owner != "me" {
		t.Errorf("Campaign: got %v, error %v want me to lead still", got, err)
	}
	must(t, after.Resign(t.Context(), lease))
	if got, err := after.Campaign(t.Context(), breakerstore.Candidate{Owner: "other", TTL: time.Hour}); err != nil || got.Term <= lease.Term {
		t.Errorf("Campaign: got %v, error %v want a term after %d", got, err, lease.Term)
	}
}

// TestRedis_Full checks that a server without memory rejects the whole write.
func TestRedis_Full(t *testing.T) {
	server, _, store := newRedis(t)
	before := writeRedis(t, store, 63, "x")
	lease, err := store.Campaign(t.Context(), breakerstore.Candidate{Owner: "me", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	_, err = store.Apply(t.Context(), breakerstore.Batch{Shard: 63, Expect: before, Changes: []breakerstore.Change{
		{ID: redisRecord(63)}, {ID: redisRecord(127), Data: []byte("y")},
	}})
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Apply: got error %v want OOM", err)
	}
	if err := store.Resign(t.Context(), lease); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Resign: got error %v want OOM", err)
	}
	wantRedisRecord(t, store, 63, "x")
	if got := readRedis(t, store, 63).Version; got != before {
		t.Errorf("version: got %v want %v", got, before)
	}
	server.Do(t, "DEL", redisKey(63))
	wantRedisRefused(t, store, "OOM", "campaign", "apply", "probe")
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	breakerSteps(store).wantWorks(t)
}

// TestRedis_ForeignKeys wants an error that names the key, of both stores.
func TestRedis_ForeignKeys(t *testing.T) {
	server, client, store := newRedis(t)
	all := breakerSteps(store)
	maps.Copy(all, bucketSteps(redisBucket(client, "b")))
	delete(all, "reset") // which deletes keys of any type
	all.wantWorks(t)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		client.Del(t.Context(), key)
		client.LPush(t.Context(), key, "mine")
	}
	server.Do(t, "LPUSH", redisKey(1), "mine")
	server.Do(t, "LPUSH", redisBucketKey, "mine")
	for name, step := range all {
		if err := step(t.Context()); err == nil || !regexp.MustCompile(`spillway:(breaker:\{b/|bucket:b:k).*WRONGTYPE`).MatchString(err.Error()) {
			t.Errorf("%s: got error %v want WRONGTYPE and the key", name, err)
		}
	}
}

// TestRedis_Permissions runs with a user that has only the documented permissions, and with one that may
// not use the channels either.
func TestRedis_Permissions(t *testing.T) {
	server := program.Redis(t)
	const rights = "+@connection +eval +evalsha +time +hget +hset +hdel +hmget +hgetall +get +set +del +exists +publish +subscribe"
	for name, channels := range map[string]string{"all": "&spillway:breaker:*", "quiet": "resetchannels"} {
		store := redisStore(redisUser(t, server, name, rights, "~spillway:breaker:*", "resetchannels", channels), "b")
		server.Do(t, "FLUSHALL")
		breakerSteps(store).wantWorks(t)
		writeRedis(t, store, 3, "x")
		wantRedisRecord(t, store, 3, "x")
		if name == "all" {
			wantRedisWatched(t, store, func() { writeRedis(t, store, 4, "x") })
		} else if err := store.Watch(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("Watch: got error %v want NOPERM", err)
		}
	}
}

// TestRedisCluster_LostNode wants an error for the shards of the node, not an empty answer, which
// managers would treat as a loss.
func TestRedisCluster_LostNode(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	store := redisStore(redisClient(t, servers...), "b")
	all := make([]int, breakerstore.NumShards)
	for shard := range all {
		all[shard] = shard
		writeRedis(t, store, shard, "x")
	}
	servers[1].Kill(t)
	if v, err := store.Versions(t.Context()); err == nil {
		t.Errorf("Versions: got %v want an error", v.Shards)
	}
	if loaded, err := store.Load(t.Context(), all); err == nil {
		t.Errorf("Load: got %v want an error", loaded)
	}
	reached := 0
	for shard := range 12 {
		loaded, err := store.Load(t.Context(), []int{shard})
		if err != nil {
			continue
		}
		if reached++; len(loaded) != 1 || loaded[0].Version.Number != 1 || len(loaded[0].Records) != 1 {
			t.Errorf("Load: got %v want what was written", loaded)
		}
	}
	if reached == 0 || reached == 12 {
		t.Errorf("got %d of 12 shards want those of two nodes out of three", reached)
	}
}

// TestRedisCluster_Failover promotes the replica of a node that has been killed. The client must find it long before the
// minute after which it reads the nodes by itself.
func TestRedisCluster_Failover(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	replica := program.RedisClusterReplica(t, servers, 1)
	client := redisClient(t, servers...)
	breakers, buckets := redisStore(client, "b"), redisBucket(client, "b")
	reach := func() error {
		_, err := breakers.Versions(t.Context())
		answers := buckets.TakeMany(t.Context(), []bucketstore.Request{{Key: "1", Limit: slowly(3)}, {Key: "2", Limit: slowly(3)}, {Key: "3", Limit: slowly(3)}})
		return errors.Join(err, answers[0].Err, answers[1].Err, answers[2].Err)
	}
	must(t, reach())
	servers[1].Kill(t)
	if reach() == nil {
		t.Error("got no error without a node")
	}
	replica.Do(t, "CLUSTER", "FAILOVER", "TAKEOVER")
	promoted := time.Now()
	program.Eventually(t, "the client finds the replica", func() string {
		if err := reach(); err != nil {
			return err.Error()
		}
		return ""
	})
	if took := time.Since(promoted); took > 30*time.Second {
		t.Errorf("the client found the replica after %v", took)
	}
}
