package storetest

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func batchCases() []testCase {
	return []testCase{
		{"creates, replaces and deletes at once", batchMixes},
		{"deletes what is not there", batchDeletesNothing},
		{"has 500 changes", batchIsLarge},
		{"with another version is a conflict", batchConflicts},
		{"in conflict leaves no term", conflictLeavesNoTerm},
		{"changes one shard only", batchKeepsToShard},
	}
}

func batchMixes(r *rig) {
	const shard = 21
	r.write(r.Store, shard, put(shard, 1, "kept"), put(shard, 2, "old"), put(shard, 3, "deleted"))
	r.write(r.Handle(), shard, put(shard, 2, "new"), drop(shard, 3), put(shard, 4, "created"))
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "kept", 2: "new", 4: "created"}))
}

// batchDeletesNothing does not care whether that counts as a write, if only Apply tells the truth.
func batchDeletesNothing(r *rig) {
	const shard = 22
	v := r.apply(r.Store, store.Batch{Shard: shard, Changes: []store.Change{drop(shard, 1)}})
	r.expectVersion(r.Handle(), shard, v)
	v = r.apply(r.Store, store.Batch{Shard: shard, Expect: v, Changes: []store.Change{put(shard, 1, "x")}})
	v = r.apply(r.Store, store.Batch{Shard: shard, Expect: v, Changes: []store.Change{drop(shard, 2), drop(shard, 3)}})
	r.expectVersion(r.Handle(), shard, v)
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "x"}))
}

func batchIsLarge(r *rig) {
	const shard, size = 23, 500
	var changes, deletions []store.Change
	want := map[int]string{}
	for n := range size {
		want[n] = fmt.Sprintf("record %d", n)
		changes = append(changes, put(shard, n, want[n]))
	}
	first := r.write(r.Store, shard, changes...)
	r.expectRecords(r.shard(r.Handle(), shard), texts(shard, want))
	for n := range size {
		if n%3 == 0 {
			want[n] = fmt.Sprintf("new record %d", n)
			deletions = append(deletions, put(shard, n, want[n]))
		} else {
			delete(want, n)
			deletions = append(deletions, drop(shard, n))
		}
	}
	second := r.write(r.Store, shard, deletions...)
	r.expectRecords(r.shard(r.Handle(), shard), texts(shard, want))
	if first.Number != 1 || second.Number != 2 {
		r.Errorf("version numbers of two batches of %d changes: got %d and %d, want 1 and 2: a batch is one write", size, first.Number, second.Number)
	}
}

func batchConflicts(r *rig) {
	const shard = 24
	changes := []store.Change{put(shard, 1, "lost"), drop(shard, 2), put(shard, 3, "lost")}
	refuse := func(expect store.Version, why string) {
		r.Helper()
		for term := range uint64(2) {
			r.refuse(r.Store, store.Batch{Shard: shard, Term: 100 * term, Expect: expect, Changes: changes}, store.ErrConflict, why)
			r.refuse(r.Store, store.Batch{Shard: shard, Term: 100 * term, Expect: expect}, store.ErrConflict, why+", also for a batch without changes")
		}
	}
	refuse(store.Version{Epoch: 1, Number: 1}, "the shard was never written")
	first := r.write(r.Store, shard, put(shard, 1, "one"), put(shard, 2, "two"))
	refuse(store.Version{}, "the shard has been written")
	second := r.write(r.Handle(), shard, put(shard, 1, "three"))
	refuse(first, "another handle has written since")
	refuse(store.Version{}, "the shard has been written")
	refuse(store.Version{Epoch: second.Epoch, Number: second.Number + 1}, "nobody has written that version yet")
	refuse(store.Version{Epoch: second.Epoch + 1, Number: second.Number}, "the epoch is another")
	refuse(store.Version{Epoch: second.Epoch - 1, Number: second.Number}, "the epoch is another")
	refuse(store.Version{Number: second.Number}, "the epoch is missing")
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "three", 2: "two"}))
}

func conflictLeavesNoTerm(r *rig) {
	const shard = 25
	v := r.write(r.Store, shard, put(shard, 1, "x"))
	r.refuse(r.Store, store.Batch{Shard: shard, Term: 200, Changes: []store.Change{put(shard, 1, "y")}}, store.ErrConflict,
		"the shard has been written")
	if _, err := r.tryApply(r.Store, store.Batch{Shard: shard, Term: 100, Expect: v, Changes: []store.Change{put(shard, 1, "z")}}); err != nil {
		r.Errorf("Apply with term 100 after a batch with term 200 was a conflict: got error %v, want none: of a batch in conflict nothing is written, its term neither", err)
	}
}

func batchKeepsToShard(r *rig) {
	versions := r.fill()
	const shard = 26
	versions[shard] = r.write(r.Store, shard, put(shard, 1, "changed"), drop(shard, 2))
	for i, s := range r.load(r.Handle(), allShards()...) {
		want := map[int]string{1: fmt.Sprintf("one of %d", i), 2: fmt.Sprintf("two of %d", i)}
		if i == shard {
			want = map[int]string{1: "changed"}
		}
		r.expectRecords(s, texts(i, want))
		if s.Version != versions[i] {
			r.Errorf("shard %d after a write to shard %d: got version %+v, want %+v", i, shard, s.Version, versions[i])
		}
	}
}
