package redisstore

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestMicroseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Hour: 0, 0: 0, 1: 1, 999: 1, 1000: 1, 1999: 1, 2000: 2, time.Second: 1e6, math.MaxInt64: maxMicros,
	} {
		equals(t, microseconds(d), want, "%v", d)
	}
	for micros, want := range map[int64]time.Duration{
		-1: 0, 0: 0, 1: time.Microsecond, 1e6: time.Second, math.MaxInt64: maxMicros * time.Microsecond, math.MinInt64: 0,
	} {
		if got := duration(micros); got != want || got < 0 {
			t.Errorf("%d: got %v want %v", micros, got, want)
		}
	}
}

// TestOptions wants what they say to arrive at every kind of client.
func TestOptions(t *testing.T) {
	one := Options("a:1").Simple()
	if !one.ContextTimeoutEnabled || one.MaxRetries != -1 || one.Addr != "a:1" ||
		one.ReadTimeout != socketTimeout || one.WriteTimeout != socketTimeout || one.DialTimeout != dialTimeout ||
		one.DialerRetries != 1 || one.PoolTimeout != socketTimeout || one.ConnMaxLifetime+one.ConnMaxLifetimeJitter != connectionAge {
		t.Errorf("a server: got %+v", one)
	}
	if many := Options("a:1", "b:2").Cluster(); !many.ContextTimeoutEnabled || many.MaxRetries != -1 || len(many.Addrs) != 2 {
		t.Errorf("a cluster: got %+v", many)
	}
	client := redis.NewUniversalClient(Options("a:1", "b:2"))
	defer client.Close()
	if _, ok := client.(*redis.ClusterClient); !ok {
		t.Errorf("two addresses: got %T want a ClusterClient", client)
	}
}
