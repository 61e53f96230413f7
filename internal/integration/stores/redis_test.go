package stores_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// redisKey returns the key of a shard of the breaker "b".
func redisKey(shard int) string { return fmt.Sprintf("spillway:breaker:{b/%d}:shard", shard) }

// redisClient returns a client with the documented options.
func redisClient(t testing.TB, servers ...*program.RedisServer) redis.UniversalClient {
	t.Helper()
	return redisClientWith(t, redisOptions(servers...))
}

func redisOptions(servers ...*program.RedisServer) *redis.UniversalOptions {
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Address)
	}
	return redisstore.Options(addresses...)
}

func redisClientWith(t testing.TB, options *redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	// The timeouts are long, because test machines are slow.
	options.ReadTimeout, options.WriteTimeout, options.DialTimeout, options.PoolTimeout =
		program.Timeout, program.Timeout, program.Timeout, program.Timeout
	client := redis.NewUniversalClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// redisUser returns a client of a new user, who has only these rights.
func redisUser(t testing.TB, server *program.RedisServer, name, rights string, more ...any) redis.UniversalClient {
	t.Helper()
	user := append([]any{"ACL", "SETUSER", name, "on", ">secret"}, more...)
	for right := range strings.FieldsSeq(rights) {
		user = append(user, right)
	}
	server.Do(t, user...)
	options := redisstore.Options(server.Address)
	options.Username, options.Password = name, "secret"
	return redisClientWith(t, options)
}

func redisStore(client redis.UniversalClient, name string) *redisstore.Breaker {
	return throttle.Must(redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: name}))
}

// newRedis returns a server, a client, and a breaker store with the name "b".
func newRedis(t testing.TB) (*program.RedisServer, redis.UniversalClient, *redisstore.Breaker) {
	t.Helper()
	server := program.Redis(t)
	client := redisClient(t, server)
	return server, client, redisStore(client, "b")
}

func redisRecord(shard int) store.RecordID {
	return store.RecordID{byte(shard >> 8), byte(shard)}
}

// writeRedis writes a record with the version that the shard has, and returns the new one.
func writeRedis(t testing.TB, s store.Store, shard int, data string) store.Version {
	t.Helper()
	version, err := s.Apply(t.Context(), store.Batch{
		Shard: shard, Expect: readRedis(t, s, shard).Version, Changes: []store.Change{{ID: redisRecord(shard), Data: []byte(data)}},
	})
	if err != nil {
		t.Fatalf("Apply: got error %v want none", err)
	}
	return version
}

func readRedis(t testing.TB, s store.Store, shard int) store.Shard {
	t.Helper()
	loaded, err := s.Load(t.Context(), []int{shard})
	if err != nil || len(loaded) != 1 {
		t.Fatalf("Load: got %v, error %v want one shard", loaded, err)
	}
	return loaded[0]
}

func wantRedisRecord(t testing.TB, s store.Store, shard int, data string) {
	t.Helper()
	got := readRedis(t, s, shard)
	if len(got.Records) != 1 || string(got.Records[0].Data) != data || got.Records[0].ID != redisRecord(shard) {
		t.Errorf("Load: got %.200q want one record %q", got.Records, data)
	}
}

// redisTrips counts commands and round trips of a client that is used by one goroutine.
type redisTrips struct{ commands, batches int }

func (c *redisTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *redisTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.commands, c.batches = c.commands+1, c.batches+1
		return next(ctx, cmd)
	}
}

func (c *redisTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.commands, c.batches = c.commands+len(cmds), c.batches+1
		return next(ctx, cmds)
	}
}

// TestRedis_Frozen checks that every step of both stores ends with its context, also with long timeouts of sockets.
func TestRedis_Frozen(t *testing.T) {
	server := program.Redis(t)
	options := redisstore.Options(server.Address)
	options.ReadTimeout, options.WriteTimeout, options.PoolTimeout, options.DialTimeout = -1, -1, time.Hour, time.Hour
	client := redis.NewUniversalClient(options)
	defer client.Close()
	all := breakerSteps(redisStore(client, "b"))
	maps.Copy(all, bucketSteps(redisBucket(client, "b")))
	all.wantWorks(t)
	server.Freeze(t)
	for range 5 { // the first may have a connection; the others need new ones, which a frozen server does not accept
		for name, err := range all.within(t, 20*time.Millisecond) {
			if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "redisstore: "+name+": ") {
				t.Errorf("%s: got error %v want redisstore: %s: and %v", name, err, name, context.DeadlineExceeded)
			}
		}
	}
	server.Thaw(t)
	all.wantWorks(t)
}
