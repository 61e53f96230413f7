package stores_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// redisListener is somebody who watches a store.
type redisListener struct {
	heard atomic.Int64
	ended chan error
	stop  context.CancelFunc
}

// listenToRedis begins to watch, and returns when that has begun: Watch tells of it.
func listenToRedis(t *testing.T, w breakerstore.Watcher) *redisListener {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &redisListener{ended: make(chan error, 1), stop: stop}
	t.Cleanup(stop)
	go func() { l.ended <- w.Watch(ctx, func() { l.heard.Add(1) }) }()
	l.hears(t, 0)
	return l
}

// hears waits until more has been heard than before.
func (l *redisListener) hears(t *testing.T, before int64) {
	t.Helper()
	program.Eventually(t, "a change is heard of", func() string {
		if now := l.heard.Load(); now <= before {
			return fmt.Sprintf("heard %d times, and %d before", now, before)
		}
		return ""
	})
}

// wantRedisHears wants that a watcher hears of a change, and ends with its context.
func wantRedisHears(t *testing.T, w breakerstore.Watcher, change func()) {
	t.Helper()
	l := listenToRedis(t, w)
	before := l.heard.Load()
	change()
	l.hears(t, before)
	l.stop()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch: got error %v want %v", err, context.Canceled)
	}
}

func TestRedisWatch(t *testing.T) {
	server, client, store := newRedis(t)
	other := redisStore(t, redisClient(t, server), "b")
	wantRedisHears(t, store, func() { writeRedis(t, other, 5, "x") })
	if n := client.PubSubNumSub(t.Context(), "spillway:breaker:{b}:change").Val()["spillway:breaker:{b}:change"]; n > 1 {
		t.Errorf("got %d subscriptions left want none, or one that is just ending", n)
	}
}

// TestRedisWatchOnACluster changes shards of all nodes, each of which must be heard of wherever one listens.
func TestRedisWatchOnACluster(t *testing.T) {
	servers := program.RedisCluster(t, 3)
	store, other := redisStore(t, redisClient(t, servers...), "b"), redisStore(t, redisClient(t, servers...), "b")
	l := listenToRedis(t, store)
	for shard := range 16 {
		before := l.heard.Load()
		writeRedis(t, other, shard, "x")
		l.hears(t, before)
	}
}

// TestRedisWatchIsNoWrite wants no word of what changes nothing.
func TestRedisWatchIsNoWrite(t *testing.T) {
	_, _, store := newRedis(t)
	l := listenToRedis(t, store)
	before := l.heard.Load()
	if _, err := store.Apply(t.Context(), breakerstore.Batch{Shard: 1, Term: 7}); err != nil {
		t.Fatal(err)
	}
	writeRedis(t, store, 1, "x")
	l.hears(t, before)
	if got := l.heard.Load(); got != before+1 {
		t.Errorf("got %d words for one change want 1", got-before)
	}
}

// TestRedisWatchSurvivesItsConnection cuts it off: what happens in between is made up for by one word afterwards.
func TestRedisWatchSurvivesItsConnection(t *testing.T) {
	server, _, store := newRedis(t)
	l := listenToRedis(t, store)
	for range 3 {
		before := l.heard.Load()
		if n := server.Do(t, "CLIENT", "KILL", "TYPE", "pubsub"); n != int64(1) {
			t.Fatalf("got %v connections cut off want 1", n)
		}
		l.hears(t, before)
		before = l.heard.Load()
		writeRedis(t, store, 5, "x")
		l.hears(t, before)
	}
}

// TestRedisWatchEndsWithTheServer wants an error when there is nobody to listen to, killed or frozen.
func TestRedisWatchEndsWithTheServer(t *testing.T) {
	for name, end := range map[string]func(*program.RedisServer){
		"killed": func(s *program.RedisServer) { s.Kill(t) },
		"frozen": func(s *program.RedisServer) { s.Freeze(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _, store := newRedis(t)
			l := listenToRedis(t, store)
			end(server)
			if err := <-l.ended; err == nil || !strings.HasPrefix(err.Error(), "redisstore: watch: spillway:breaker:{b}:change: ") {
				t.Errorf("got error %v want redisstore: watch: and the channel", err)
			}
		})
	}
}

// TestRedisWatchEndsThoughFrozen cancels while nobody answers.
func TestRedisWatchEndsThoughFrozen(t *testing.T) {
	server, _, store := newRedis(t)
	l := listenToRedis(t, store)
	server.Freeze(t)
	l.stop()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v want %v", err, context.Canceled)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := store.Watch(ctx, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("over before: got error %v want %v", err, context.Canceled)
	}
}
