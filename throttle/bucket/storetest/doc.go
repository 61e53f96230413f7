// Package storetest tells whether a [store.Store] keeps its promises: it is the suite that every store of this house has to pass, for those
// who write one of their own.
//
//	func TestStore(t *testing.T) {
//		db := openDatabase(t)
//		storetest.Run(t, func(*testing.T) store.Store { return mystore.New(db) }, storetest.ClockResolution(time.Millisecond))
//	}
//
// Cases are named after the rule that they test, in groups: run one with -run 'TestStore/race/grants_not_one_too_many', one group with
// -run 'TestStore/race'.
//
// A [History] can also be used by itself: it writes down what many do with a store at once, and decides whether there is an order in which
// it could have happened to one bucket after the other.
//
// # Time
//
// Buckets live on the store's own clock, so the suite runs in real time against real servers. It takes a few seconds, and no verdict needs a
// fast machine. Each answer tells how long ago, or ahead, the bucket was or will be full by the store's clock; the suite notes by the
// local one when it asked and when it was told, and wants that [store.Level.Take] gives just this answer at some time in between. The slower
// the machine is, the more answers there are that a store may give. Nothing but the pace of both clocks is compared, so they may be hours apart.
//
// # What it asks for
//
// What the comments of [store.Store] promise, and that every answer is the one of [store.Level.Take], to the nanosecond. In particular:
//
//   - RetryAfter is enough: who waits for so long, counted from the answer, is granted what was denied, if nobody else comes. A store whose
//     clock counts milliseconds therefore rounds it up to one. It is not more than enough.
//   - A store returns no error for what is only a contest, such as a deadlock or a failed serialization. It tries again.
//   - No byte of a key is special. Keys that differ are different buckets, also if they do so in case, in blanks at their end, or after a NUL.
//   - A time that was read long before it is used may only make a bucket stricter.
//   - A call whose context was over before it began takes nothing.
//   - A negative number of tokens is returned as none.
//   - Close can be called twice, and leaves the buckets as they are.
//
// # What it cannot tell
//
// Faults of the way to the store, such as a server that is paused, killed or emptied, and steps of its clock are beyond it: a store that talks
// to a server needs tests of these too. It does not measure speed.
package storetest
