package program

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisServer is a Redis or Valkey server. It writes nothing to disk, unless its flags say so.
type RedisServer struct {
	*Server

	path, data string
	flags      []string
	bus        string // port of the cluster bus
}

// Redis starts a Redis. The flags are added to those that set its address and folder.
func Redis(t testing.TB, flags ...string) *RedisServer {
	t.Helper()
	r := &RedisServer{path: Find(t, "redis-server", "redis-server", "valkey-server"), data: t.TempDir(), flags: flags}
	onFreePort(t, r.path, r.start)
	return r
}

// RedisReplica starts a replica of another Redis and returns it when it has caught up.
func RedisReplica(t testing.TB, of *RedisServer) *RedisServer {
	t.Helper()
	host, port, err := net.SplitHostPort(of.Address)
	if err != nil {
		t.Fatal(err)
	}
	r := Redis(t, "--replicaof", host+" "+port)
	r.awaitAnswer(t, "the replica has caught up", "master_link_status:up\r", "INFO", "replication")
	return r
}

// RedisCluster starts a Redis Cluster of nodes without replicas, each with an equal part of the slots.
func RedisCluster(t testing.TB, nodes int) []*RedisServer {
	t.Helper()
	const slots = 16384
	cluster := make([]*RedisServer, nodes)
	for i := range cluster {
		cluster[i] = clusterNode(t)
		cluster[i].Do(t, "CLUSTER", "ADDSLOTSRANGE", i*slots/nodes, (i+1)*slots/nodes-1)
		cluster[i].Do(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			cluster[i].meet(t, cluster[0])
		}
	}
	for _, r := range cluster {
		for _, want := range []string{"cluster_state:ok\r", fmt.Sprintf("cluster_known_nodes:%d\r", nodes), fmt.Sprintf("cluster_size:%d\r", nodes)} {
			r.awaitAnswer(t, "the node has joined the cluster", want, "CLUSTER", "INFO")
		}
	}
	return cluster
}

// RedisClusterReplica starts a replica of a node of a cluster and returns it when it has caught up and all nodes list it. It is
// promoted only by CLUSTER FAILOVER.
func RedisClusterReplica(t testing.TB, cluster []*RedisServer, of int) *RedisServer {
	t.Helper()
	r := clusterNode(t)
	r.meet(t, cluster[of])
	id := fmt.Sprint(cluster[of].Do(t, "CLUSTER", "MYID"))
	r.awaitAnswer(t, "the replica lists its node", id, "CLUSTER", "NODES")
	r.Do(t, "CLUSTER", "REPLICATE", id)
	r.awaitAnswer(t, "the replica has caught up", "master_link_status:up\r", "INFO", "replication")
	for _, other := range cluster {
		other.awaitAnswer(t, "the node lists the replica", "slave "+id, "CLUSTER", "NODES")
	}
	return r
}

// clusterNode starts a node, which must meet another one.
func clusterNode(t testing.TB) *RedisServer {
	t.Helper()
	return Redis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "60000")
}

// meet makes a node join the cluster of another one.
func (r *RedisServer) meet(t testing.TB, other *RedisServer) {
	t.Helper()
	host, port, _ := net.SplitHostPort(other.Address)
	r.Do(t, "CLUSTER", "MEET", host, port, other.bus)
}

// Restart starts the server again after Kill, at its old address. Its data are lost, unless its flags
// keep them.
func (r *RedisServer) Restart(t testing.TB) {
	t.Helper()
	restart(t, r.Address, r.start)
}

// Do sends a command and returns the answer.
func (r *RedisServer) Do(t testing.TB, command ...any) any {
	t.Helper()
	answer, err := r.send(t, Timeout, command...)
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return answer
}

// start reports false if the port was taken.
func (r *RedisServer) start(t testing.TB, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	flags := append([]string{
		"--bind", host, "--port", port, "--dir", r.data, "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
	}, r.flags...)
	if slices.Contains(flags, "--cluster-enabled") { // its default may be above 65535
		_, r.bus, _ = net.SplitHostPort(freeAddress(t))
		flags = append(flags, "--cluster-port", r.bus)
	}
	r.Server = &Server{Process: Start(t, r.path, flags...), Address: address}
	return r.awaitReady(t, func() error {
		answer, err := r.send(t, answerTimeout, "INFO", "server")
		if err != nil || !strings.Contains(fmt.Sprint(answer), fmt.Sprintf("process_id:%d\r", r.cmd.Process.Pid)) {
			return fmt.Errorf("another server answered, or none: %v", err)
		}
		return nil
	})
}

// awaitAnswer waits until the server's answer to a command contains want.
func (r *RedisServer) awaitAnswer(t testing.TB, what, want string, command ...any) {
	t.Helper()
	Eventually(t, what, func() string {
		answer, err := r.send(t, answerTimeout, command...)
		if err != nil || !strings.Contains(fmt.Sprint(answer), want) {
			return fmt.Sprintf("want %q, got error %v, %v", want, err, answer)
		}
		return ""
	})
}

func (r *RedisServer) send(t testing.TB, timeout time.Duration, command ...any) (any, error) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: r.Address, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	return client.Do(ctx, command...).Result()
}
