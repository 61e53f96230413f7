// Package bucket limits how often something is done, by token buckets: one for each key, in one process or shared by a fleet.
//
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50)})
//	...
//	if err := l.Wait(ctx, "", 1); err != nil { // or Allow, which does not wait
//		return err
//	}
//	// ask the geocoder
//
// A request that is denied is told when to come again: [Decision].RetryAfter is enough, and no nanosecond too much, if nobody else comes first. It is no
// error; an error means that nobody could be asked. A request for more than the bucket holds is refused at once with
// [ErrExceedsCapacity], because it could wait for ever.
//
// # Algorithms
//
// [Continuous] buckets are refilled evenly. They are one integer each: the time at which the bucket will be full. In any time t at
// most Capacity + t * Refill / Period tokens are granted. [Fixed] ones are filled at the beginning of each period, and forget what was left; a
// bucket that is filled at ten and at eleven can grant twice its capacity around eleven. A store's clock that steps back mints no
// tokens, and one that was far ahead keeps nobody waiting for longer than an empty bucket would.
//
// # Stores
//
// A [Store] decides in one atomic step, by its own clock. [NewMemoryStore] is for one process; sqlstore.NewBucket and redisstore.NewBucket are
// for several. For a store that is elsewhere, requests for single
// tokens of a bucket are asked for together while it is being asked, and those in [Limiter.Wait] stand in one line per key, which asks for all of
// them: ten thousand who wait cost one question per batch of tokens. What holds when a store gives no answer within Config.Timeout is
// Config.OnFailure's to say; [Decision].Source tells such answers from the store's.
package bucket
