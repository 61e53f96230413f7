// Package bucket limits how often events happen, by token buckets: one bucket per key, in one
// process or shared by many.
//
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50)})
//	...
//	if err := l.Wait(ctx, "", 1); err != nil { // or Take, which does not wait
//		return err
//	}
//	// call the geocoder
//
// A request is denied if the bucket has too few tokens now. [Limiter.Take] and [Limiter.Wait]
// return that as an error, a *[DeniedError]. [Limiter.Decide], DecideN and DecideAtMost return a
// [Decision] with Allowed false, and no error. [Limiter.Allow] returns false. A request for more
// tokens than the bucket can hold fails at once with [ErrExceedsCapacity].
//
// A denied caller should retry after RetryAfter. If no other caller takes the tokens first, they
// are available then. RetryAfter is too long by at most one tick of the store's clock.
//
// # Algorithms
//
// A [Continuous] bucket is refilled evenly. In any time t it grants at most Capacity +
// t*Refill/Period tokens. Its state is one integer: the time at which it will be full.
//
// A [Fixed] bucket is filled at the start of each period and drops the tokens that were left.
// Periods are aligned to 1970-01-01 UTC. It grants at most its capacity in one period, but up to
// twice its capacity in a short time around the start of a period.
//
// If the store's clock steps forward, a bucket gets the tokens of that time, at most its capacity.
// If the clock steps back, no tokens are added, and the bucket waits until the clock has caught up.
// After a step back of more than a second, the bucket counts as empty if it would wait for longer.
//
// # Changing a limit
//
// Processes may have different limits for one bucket, for example while a new limit is rolled out.
// The bucket keeps its state by two limits. Each process is decided by the state of its own limit,
// and each grant is charged to both. In any time t all processes are granted at most the largest
// capacity and the highest rate * t. If a limit is Fixed, its capacity may come on top, once in each
// of its periods.
//
// The change is complete once all processes have the new limit: it alone decides then. A new
// limit begins with as many tokens missing as the old one has, at most its own capacity.
//
// # Stores
//
// A store decides each request in one atomic step, by its own clock. [NewMemoryStore] is for one
// process. sqlstore.NewBucket and redisstore.NewBucket are for several. Package bucket/store
// documents how to write another one.
//
// For a remote store, requests share store calls. Requests for one token of a key wait while a
// call for that key is in flight, and share the next call. Calls of [Limiter.Wait] are in one
// queue per key and process: one store call serves up to 4096 of them. Redis and SQL databases answer
// requests for up to 128 keys in one call.
//
// If the store fails or gives no answer within Config.StoreTimeout, Config.OnFailure decides. By
// default each process then enforces its share of the limit in memory. [FailurePolicy] lists what
// each method returns. A store, or a part of it, that fails several times in a row is not called
// for up to a second. A store made by NewMemoryStore does not fail.
//
// Config.MaxCalls bounds the calls in flight, and the requests that wait for their turn. [Limiter.Warm]
// opens connections before the first request. Config.Lease fetches tokens ahead, which are then used
// slightly later than they were granted. All other decisions are exact, except that a [Fixed] bucket
// also gets tokens back that were taken in an earlier period.
//
// # The files, in the order of a call
//
//	take.go        Take, Decide and the other methods that do not wait
//	wait.go        Wait; queue.go and queueserve.go have the queue of each key
//	memorystore.go a store in memory decides here; memoryshard.go has its buckets
//	store.go       a remote store: what goes to it, and the policy if it does not decide
//	part.go        the part of the store with the key: the batch that a request joins or begins, and their line
//	batch.go       one request to the store, for one or more callers, who wait for it or leave
//	call.go        calls of the store for one batch, or for all that wait
//	lease.go       tokens that were fetched ahead
//	share.go       the local share, which the policy grants
package bucket
