// Package redisstore keeps in Redis, or Valkey, what a fleet shares: the circuits of a [breaker.Manager], and the buckets of a
// [bucket.Limiter], of which [Bucket] tells.
//
//	client := redis.NewUniversalClient(redisstore.Options("redis:6379"))
//	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "webhooks"})
//	manager, err := breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: poll}) // poll counts the calls of all agents
//
// It needs Redis 6.2 or newer. Each step is one script or one command on keys that lie together, so Redis Cluster works too. Calls never
// wait for any of this: a manager reads and writes in the background.
//
// # Keys
//
// With the default prefix, for a breaker called webhooks (a name is written like a part of a URL, so that it may be anything):
//
//	spillway:breaker:{webhooks/0}:shard … {webhooks/63}:shard    hashes: a field "version", and a field for each record
//	spillway:breaker:{webhooks/lead}:lease                       a hash: who leads, the term, until when
//	spillway:breaker:{webhooks/lead}:probes:<record>:<generation>  a string: the end of a period and what is used of its budget
//	spillway:breaker:{webhooks}:change                           a channel: tells of each write, for Watch
//
// The version is "epoch number term". A shard whose version cannot be read is lost: it reads as empty, and the next writer clears it and
// begins it anew. Version and records are one key, so that Redis cannot evict the one without the other. Only the counters of probes
// expire, soon after their period. Nothing else does: the manager deletes the records of circuits that it forgets, and keys that
// expire are the first that some servers evict.
//
// These are the rights that it takes; a cluster's client also asks for +cluster|slots and +command:
//
//	ACL SETUSER spillway on >secret ~spillway:breaker:* &spillway:breaker:* +@connection +eval +evalsha +time
//	    +hget +hset +hdel +hmget +hgetall +get +set +del +exists +publish +subscribe
//
// # Costs
//
// A refresh is one pipeline, Versions: 64 times HGET of some bytes and a script that returns the time, 65 commands and one round trip
// (in a cluster one per node). What has changed is another pipeline, Load: HGETALL of each such shard. Everything else, a write of a
// shard, extending the lease, a batch of up to 256 probes, is one script call. A script that the server does not know is sent once
// more with its text. Watch holds a connection open.
//
// # The client
//
// [Options] returns settings that suit a store: contexts end calls on the socket, short timeouts, nothing tried twice. A client with
// go-redis' own defaults works as well, but a call to a server that hangs then lasts for seconds after its context is over. The manager
// does not wait for it; it only has to leave it behind.
//
// # Cluster and replicas
//
// Give all nodes, or some of them, to [Options], or a client of your own. Shards lie on all nodes; the lease, the probes and the time that
// counts are one node's, so that clocks which differ do no harm.
//
// Everything is read from primaries. A replica may be behind, and what was just written would seem lost, so a client that reads from
// replicas (ReadOnly, RouteByLatency, RouteRandomly) is refused: share one that does not, or make one for the store. A [redis.Ring] is
// refused too: it looks elsewhere for what a server that does not answer had, so that a fleet could have two leaders.
//
// # What is kept
//
// Redis decides. A crash loses about a second with appendonly, and without it everything since the last snapshot; a failover loses what
// the replica had not received, a flush everything. A manager gets over all of that:
//
//   - After a flush all versions are zero and then have another epoch. Managers see that, go on with what they know, and the leader
//     writes it again. The next term is higher than all before, because terms come from the clock.
//   - After a failover a shard may be back at an older version. That is a change like any other. If the clock of the new server is
//     behind, the term still rises as long as the lease was replicated, and no lease lasts longer than its TTL from the new now.
//   - A server without memory left (maxmemory with noeviction, which is right here) or a replica refuses writes: nobody leads until
//     it takes them again, and what is known stays known.
//   - A key of somebody else's where one of ours should be is an error that names it.
package redisstore
