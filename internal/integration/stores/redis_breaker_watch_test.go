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

type redisWatcher struct {
	changes atomic.Int64
	ended   chan error
	stop    context.CancelFunc
}

// watchRedis starts a watcher and returns after its first notification, which Watch sends at the start.
func watchRedis(t *testing.T, w breakerstore.Watcher) *redisWatcher {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &redisWatcher{ended: make(chan error, 1), stop: stop}
	t.Cleanup(stop)
	go func() { l.ended <- w.Watch(ctx, func() { l.changes.Add(1) }) }()
	l.awaitChange(t, 0)
	return l
}

// awaitChange waits until there were more notifications than before.
func (l *redisWatcher) awaitChange(t *testing.T, before int64) {
	t.Helper()
	program.Eventually(t, "a change is heard of", func() string {
		if now := l.changes.Load(); now <= before {
			return fmt.Sprintf("heard %d times, and %d before", now, before)
		}
		return ""
	})
}

// wantRedisWatched checks that a watcher is notified of a change, and ends with its context.
func wantRedisWatched(t *testing.T, w breakerstore.Watcher, change func()) {
	t.Helper()
	l := watchRedis(t, w)
	before := l.changes.Load()
	change()
	l.awaitChange(t, before)
	l.stop()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch: got error %v want %v", err, context.Canceled)
	}
}

// TestRedisWatch_Reconnect cuts the connection. Changes meanwhile lead to one notification afterwards.
func TestRedisWatch_Reconnect(t *testing.T) {
	server, _, store := newRedis(t)
	l := watchRedis(t, store)
	for range 3 {
		before := l.changes.Load()
		if n := server.Do(t, "CLIENT", "KILL", "TYPE", "pubsub"); n != int64(1) {
			t.Fatalf("got %v connections cut off want 1", n)
		}
		l.awaitChange(t, before)
		before = l.changes.Load()
		writeRedis(t, store, 5, "x")
		l.awaitChange(t, before)
	}
}

// TestRedisWatch_ServerLost wants an error if the server is killed or frozen.
func TestRedisWatch_ServerLost(t *testing.T) {
	for name, end := range map[string]func(*program.RedisServer){
		"killed": func(s *program.RedisServer) { s.Kill(t) },
		"frozen": func(s *program.RedisServer) { s.Freeze(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _, store := newRedis(t)
			l := watchRedis(t, store)
			end(server)
			if err := <-l.ended; err == nil || !strings.HasPrefix(err.Error(), "redisstore: watch: spillway:breaker:{b}:change: ") {
				t.Errorf("got error %v want redisstore: watch: and the channel", err)
			}
		})
	}
}

// TestRedisWatch_CancelWhileFrozen cancels while the server does not answer.
func TestRedisWatch_CancelWhileFrozen(t *testing.T) {
	server, _, store := newRedis(t)
	l := watchRedis(t, store)
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
