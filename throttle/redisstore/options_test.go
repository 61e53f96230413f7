package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestOptions wants what they say to arrive at every kind of client.
func TestOptions(t *testing.T) {
	one := Options("a:1").Simple()
	if !one.ContextTimeoutEnabled || one.MaxRetries != -1 || one.Addr != "a:1" ||
		one.ReadTimeout != socketTimeout || one.WriteTimeout != socketTimeout || one.DialTimeout != dialTimeout ||
		one.DialerRetries != 1 || one.PoolTimeout != socketTimeout {
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
