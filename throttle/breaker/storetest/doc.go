// Package storetest tells whether a [store.Store] keeps its promises: it is the suite that every store of this house has to
// pass, for those who write one of their own.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) func() store.Store {
//			db := openEmptyDatabase(t)
//			return func() store.Store { return mystore.New(db) }
//		})
//	}
//
// Each case has its own empty storage, and asks for handles to it where two processes would have one each. Cases are named
// after the rule that they test, in groups: run one with -run 'TestStore/probe/budget_is_exact', one group with -run 'TestStore/probe'.
//
// # Time
//
// Leases and probes live on the store's own clock, so the suite runs in real time against real servers. It takes a few
// seconds, and no verdict needs a fast machine: what must not end during a case lasts an hour, what must end is waited for
// with kit.Patience, and where something must not happen too early the bounds are those that hold however late an answer is. All
// that it asks of the machine is that the store's clock runs at the pace of the local one; they may be hours apart.
//
// # What it asks for
//
// What the comments of [store.Store] and of its types promise, to the letter. In particular:
//
//   - A store returns no error for what is only a contest, such as a deadlock, a failed serialization or a key that another one has
//     just inserted. It tries again, or calls it [store.ErrConflict].
//   - A batch that is both fenced and in conflict is fenced.
//   - Owners of leases are compared byte by byte, and no byte of a record or of its name is special.
//   - Two requests for one record may stand in the same batch of probes, and share a budget.
//   - A generation keeps its budget while others of the record are asked for, because an agent may be behind.
//   - A call whose context was over before it began writes nothing.
//   - Close can be called twice.
//
// # What it cannot tell
//
// Faults of the way to the store, such as a server that is paused, killed or emptied, are beyond it: a store that talks to a server needs
// tests of these too. It does not measure speed.
package storetest
