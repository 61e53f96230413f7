package stores_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/storetest"
)

// TestRedisConforms runs the suite of all stores on a server and on a cluster. Each storage is a name of its own, each handle a client.
func TestRedisConforms(t *testing.T) {
	for kind, servers := range map[string][]*program.RedisServer{"plain": {program.Redis(t)}, "cluster": program.RedisCluster(t, 3)} {
		t.Run(kind, func(t *testing.T) {
			storages := 0
			storetest.Run(t, func(t *testing.T) func() breaker.Store {
				storages++
				name := fmt.Sprintf("storage {%d}/\x00\xff", storages)
				return func() breaker.Store { return redisStore(t, redisClient(t, servers...), name) }
			})
		})
	}
}
