// Package bucket limits how often something is done, by token buckets: one for each key, in one process or shared by a fleet.
//
//	l, err := bucket.New(bucket.Config{Name: "geocoder", Limit: bucket.PerSecond(50)})
//	...
//	if err := l.Wait(ctx, "", 1); err != nil { // or Take, which does not wait
//		return err
//	}
//	// ask the geocoder
//
// A request that is denied is told when to come again: [Decision].RetryAfter is enough if nobody else comes first, and too much by no more than a
// tick of the store's clock. To [Limiter.Decide] and its kin it is no error: an error means that nobody could be asked, or that the request makes
// no sense. To [Limiter.Take] and [Limiter.Wait] it is one. A request for more than the bucket holds is refused at once with
// [ErrExceedsCapacity], because it could wait for ever.
//
// # Algorithms
//
// [Continuous] buckets are refilled evenly. They are one integer each: the time at which the bucket will be full. In any time t at
// most Capacity + t * Refill / Period tokens are granted. [Fixed] ones are filled at the beginning of each period, and forget what was left; a
// bucket that is filled at ten and at eleven can grant twice its capacity around eleven. A store's clock that steps back mints no
// tokens. After one that was far ahead, and after a limit that was much slower, the first denial makes an empty bucket of what was to be full
// much later.
//
// # Stores
//
// A [Store] decides in one atomic step, by its own clock. [NewMemoryStore] is for one process; sqlstore.NewBucket and redisstore.NewBucket are
// for several. For a store that is elsewhere, requests for single
// tokens of a bucket are asked for together while it is being asked, and those in [Limiter.Wait] stand in one line per key, which asks for all of
// them: ten thousand who wait cost one question per batch of tokens. What holds when a store gives no answer within Config.StoreTimeout is
// Config.OnFailure's to say; [Decision].Source tells such answers from the store's. A store that fails again and again is left alone for a while.
//
// Config.Lease fetches tokens ahead, for buckets that are asked for more often than a store can answer. What was fetched can be used a little later,
// within the bound that is documented there. All else is exact, but for what is given back to a [Fixed] bucket in another period than it was taken
// in.
package bucket
