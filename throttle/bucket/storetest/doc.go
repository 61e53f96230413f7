// Package storetest tests implementations of [store.Store]. Every store of this module passes the
// suite. Run it on a store of your own:
//
//	func TestStore(t *testing.T) {
//		db := openDatabase(t)
//		open := func(*testing.T) func() store.Store {
//			return func() store.Store { return mystore.New(db) }
//		}
//		storetest.Run(t, open, storetest.ClockResolution(time.Millisecond))
//	}
//
// Each case is a subtest "group/case" and is named after the rule that it tests. To run one case, use
// -run 'TestStore/race/grants_exactly_the_capacity'. To run one group, use -run 'TestStore/race'.
//
// A [History] can be used without the suite. It records concurrent operations of a store, and checks
// that they are linearizable.
//
// # Time
//
// The suite runs in real time against real servers and takes a few seconds. No result depends on the
// speed of the machine. The suite notes the local time before and after each call. The answer must be
// the result of [store.Level.Take] at some time between the two. On a slow machine more answers are
// accepted. The suite compares only the pace of the two clocks, so they may show different times.
//
// # Rules
//
// A store must do what the comments of [store.Store] say. In the suite, every second Take of a
// [store.ManyTaker] is a TakeMany that also takes from other buckets. Every answer must be that of
// [store.Level.Take], to the nanosecond. In particular:
//
//   - RetryAfter is long enough and not too long. If a caller waits for RetryAfter and no other caller
//     takes tokens, its request is granted. A clock that counts milliseconds rounds RetryAfter up.
//   - A store repeats an operation after a deadlock or a serialization failure. It does not return
//     such an error.
//   - Different keys have different buckets, even if they differ only in case, in trailing blanks or
//     after a NUL byte.
//   - If the limit of a bucket changes, a store keeps the state by both limits.
//   - A clock that was read long before its time is used may only make a bucket stricter.
//   - A call takes no tokens if its context has ended before.
//   - Return ignores a negative number of tokens.
//   - Close may be called twice, and keeps the buckets.
//
// # Limits
//
// The suite does not test failures of the connection or the server: a server that is paused, killed
// or emptied, or whose clock steps. A store that uses a server needs its own tests of these. The suite
// does not measure speed.
package storetest
