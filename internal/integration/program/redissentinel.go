package program

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// RedisSentinel starts a sentinel that promotes the replica half a second after the primary is gone. It
// returns the sentinel when it has found the replica.
func RedisSentinel(t testing.TB, name string, primary *RedisServer) *RedisServer {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Address)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	settings := fmt.Sprintf("sentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 5000\n", name, host, port, name, name)
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Redis(t, config, "--sentinel")
	r.awaitAnswer(t, "the sentinel has found the replica", "slaves=1,", "INFO", "sentinel")
	return r
}
