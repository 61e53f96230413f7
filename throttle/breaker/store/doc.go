// Package store is the contract between a circuit breaker and the store that a fleet shares. It is
// for authors of stores. Users of a breaker need package breaker and a store that implements
// [Store]: breaker.NewMemoryStore, redisstore.NewBreaker or sqlstore.NewBreaker.
//
// A store keeps three things:
//
//   - A lease, which elects one manager of the fleet as leader.
//   - Records, one for each circuit with a past, in [NumShards] shards. A shard is read and
//     written as a whole, under a version.
//   - A counter of probes for each half-open circuit, which limits the probes of the whole fleet.
//
// Package storetest tests an implementation against this contract.
package store
