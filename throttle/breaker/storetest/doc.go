// Package storetest tests implementations of [store.Store]. Every store of this module passes the
// suite. Run it on a store of your own:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) func() store.Store {
//			db := openEmptyDatabase(t)
//			return func() store.Store { return mystore.New(db) }
//		})
//	}
//
// Each case has its own empty storage. It opens one handle for each process that it simulates. A case
// is a subtest "group/case" and is named after the rule that it tests. To run one case, use
// -run 'TestStore/budget/is_exact'. To run one group, use -run 'TestStore/budget'.
//
// # Time
//
// The suite runs in real time against real servers and takes a few seconds. No result depends on the
// speed of the machine:
//
//   - A lease or a period that must not end during a case lasts an hour.
//   - For an event that must happen, a case waits for up to 30 seconds.
//   - For an event that must not happen too early, the limits hold however late an answer arrives.
//
// The store's clock must have the pace of the local clock. The two may show different times.
//
// # Rules
//
// A store must do what the comments of [store.Store] and of its types say. In particular:
//
//   - A store repeats an operation after a deadlock, a serialization failure or a duplicate key, or
//     returns [store.ErrConflict]. It does not return such an error.
//   - A batch with a lower term and another version gets [store.ErrFenced], not [store.ErrConflict].
//   - Owners of leases, record IDs and data may contain any bytes, and are compared byte by byte.
//   - Two requests for one record in the same call of Probe share a budget.
//   - A generation keeps its count while probes of other generations of the record are requested,
//     because a manager may be behind.
//   - A call writes nothing if its context has ended before.
//   - Close may be called twice.
//
// # Limits
//
// The suite does not test failures of the connection or the server, such as a server that is paused,
// killed or emptied. A store that uses a server needs its own tests of these. The suite does not
// measure speed.
package storetest
