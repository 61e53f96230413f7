// Package redisstore stores the shared state of a fleet in Redis or Valkey. [Breaker] stores the
// circuits of a [breaker.Manager], and [Bucket] the token buckets of a [bucket.Limiter].
//
//	client := redis.NewUniversalClient(redisstore.Options("redis:6379"))
//	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "webhooks"})
//	manager, err := breaker.New(breaker.Config{Name: "webhooks", Store: store, Poll: poll}) // poll counts the calls of all processes: see breaker.PollFunc
//
// It needs Redis 6.2 or later. Each step is one script or one command, on keys of one hash slot, so
// Redis Cluster works too. Calls through a breaker never wait for Redis: the manager reads and
// writes in the background.
//
// This page describes [Breaker] and the client. [Bucket] describes its own keys and costs.
//
// # Keys
//
// These are the keys of a breaker called webhooks, with the default prefix. The name is
// URL-encoded, so it may contain any bytes.
//
//	spillway:breaker:{webhooks/0}:shard … {webhooks/63}:shard    hashes: a field "version", and a field for each record
//	spillway:breaker:{webhooks/lead}:lease                       a hash: the leader, its term, and when the lease ends
//	spillway:breaker:{webhooks/lead}:probes:<record>:<generation>  a string: when the period ends, and how many probes it has used
//	spillway:breaker:{webhooks}:change                           a channel: a message for each write, for Watch
//
// A version is "epoch number term". If the version of a shard cannot be parsed, the shard is lost:
// it reads as empty, and the next writer clears it. Version and records are fields of one key, so
// Redis cannot evict one without the other.
//
// Only the counters of probes expire, soon after their period ends. The manager deletes the records
// of circuits that it forgets. They have no expiry, because some servers evict keys with an expiry
// first.
//
// The client needs these permissions. A cluster client also needs +cluster|slots and +command.
//
//	ACL SETUSER spillway on >secret ~spillway:breaker:* &spillway:breaker:* +@connection +eval +evalsha +time
//	    +hget +hset +hdel +hmget +hgetall +get +set +del +exists +publish +subscribe
//
// # Costs
//
//   - Versions, once per refresh: one pipeline of 65 commands, in one round trip (in a cluster, one
//     per node). The commands are 64 times HGET of some bytes, and a script that returns the time.
//   - Load: one pipeline, with an HGETALL for each shard that has changed.
//   - Apply, Campaign and Resign: one script call each. Probe: one per 256 probes.
//   - Watch: one open connection.
//
// If the server does not have a script in its cache, the client sends the script's text.
//
// # The client
//
// [Options] returns settings for a client of a store: a context ends a call on the socket, timeouts
// are short, and nothing is retried. A client with the defaults of go-redis works too. If the
// server hangs, calls of that client last for seconds after their context has ended. The manager
// does not wait for them.
//
// While a server is gone, go-redis writes a line to stderr for each connection that it cannot open.
// Use redis.SetLogger to send these lines elsewhere.
//
// # Cluster and replicas
//
// Pass some or all nodes to [Options], or use your own client. The shards are spread over all
// nodes. The lease and the probes are on one node, and only the clock of that node is used, so
// clocks of nodes may differ.
//
// If a node does not answer, both stores make the client read again which node has which keys. So a
// replica that was promoted is found at about the second call after that. By itself go-redis reads the
// nodes once a minute, and after a redirect.
//
// The store reads from primaries only. A replica may be behind, and then a recent write would seem
// lost. Therefore [NewBreaker] returns an error for a client that reads from replicas (ReadOnly,
// RouteByLatency or RouteRandomly). It also returns an error for a [redis.Ring]: a Ring fails over
// to another shard without data, so two leaders could be elected.
//
// It cannot see that a client of Sentinel reads from replicas: [redis.NewFailoverClient] with ReplicaOnly, or
// [redis.NewUniversalClient] with MasterName and ReadOnly. Set these to false. Otherwise each write fails with the
// error READONLY of the server: no leader is elected, and Config.OnFailure of a limiter decides.
//
// # Durability
//
// Redis may lose writes:
//
//   - a crash loses about one second of writes with appendonly, and all writes since the last
//     snapshot without it
//   - a failover loses the writes that the replica had not received
//   - a flush loses everything
//
// A manager recovers from each of these, and from a server that refuses writes:
//
//   - After a flush all versions are zero, and the next writes have another epoch. Managers notice
//     it and keep their state, and the leader writes it again. The next term is higher than all
//     terms before, because terms come from the clock.
//   - After a failover a shard may be back at an older version. A manager treats that as any other
//     change. If the clock of the new server is behind, the term still rises if the lease was
//     replicated. No lease lasts longer than its TTL from the new server's time.
//   - A replica refuses writes, and so does a server without free memory (maxmemory with
//     noeviction, which is the right policy here). Until the server accepts writes again there is
//     no leader, and all managers keep their state.
//   - If another program uses a key of the store with another type, the error names the key.
package redisstore
