package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func batchCases() []testCase {
	return []testCase{
		{"creates, replaces and deletes", batchMixes},
		{"deletes missing records", batchDeletesNothing},
		{"500 changes", batchIsLarge},
		{"another version is a conflict", batchConflicts},
		{"a conflict leaves no term", conflictLeavesNoTerm},
		{"changes one shard only", batchKeepsToShard},
	}
}

func batchMixes(r *fixture) {
	const shard = 21
	r.write(r.Store, shard, put(shard, 1, "kept"), put(shard, 2, "old"), put(shard, 3, "deleted"))
	r.write(r.Handle(), shard, put(shard, 2, "new"), drop(shard, 3), put(shard, 4, "created"))
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "kept", 2: "new", 4: "created"}))
}

// batchDeletesNothing deletes records that do not exist. That may count as a write or not; Apply
// must return the version.
func batchDeletesNothing(r *fixture) {
	const shard = 22
	v := r.apply(r.Store, store.Batch{Shard: shard, Changes: []store.Change{drop(shard, 1)}})
	r.expectVersion(r.Handle(), shard, v)
	v = r.apply(r.Store, store.Batch{Shard: shard, Expect: v, Changes: []store.Change{put(shard, 1, "x")}})
	v = r.apply(r.Store, store.Batch{Shard: shard, Expect: v, Changes: []store.Change{drop(shard, 2), drop(shard, 3)}})
	r.expectVersion(r.Handle(), shard, v)
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "x"}))
}

func batchIsLarge(r *fixture) {
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
		r.Errorf("version numbers of two batches of %d changes each: got %d and %d, want 1 and 2: a batch is one write", size, first.Number, second.Number)
	}
}

func batchConflicts(r *fixture) {
	const shard = 24
	changes := []store.Change{put(shard, 1, "lost"), drop(shard, 2), put(shard, 3, "lost")}
	expectError := func(expect store.Version, why string) {
		r.Helper()
		for term := range uint64(2) {
			r.expectError(r.Store, store.Batch{Shard: shard, Term: 100 * term, Expect: expect, Changes: changes}, store.ErrConflict, why)
			r.expectError(r.Store, store.Batch{Shard: shard, Term: 100 * term, Expect: expect}, store.ErrConflict, why+" (a batch without changes)")
		}
	}
	expectError(store.Version{Epoch: 1, Number: 1}, "the shard was never written")
	first := r.write(r.Store, shard, put(shard, 1, "one"), put(shard, 2, "two"))
	expectError(store.Version{}, "the shard has been written")
	second := r.write(r.Handle(), shard, put(shard, 1, "three"))
	expectError(first, "another handle has written since then")
	expectError(store.Version{}, "the shard has been written")
	expectError(store.Version{Epoch: second.Epoch, Number: second.Number + 1}, "that version was not written yet")
	expectError(store.Version{Epoch: second.Epoch + 1, Number: second.Number}, "the epoch is another")
	expectError(store.Version{Epoch: second.Epoch - 1, Number: second.Number}, "the epoch is another")
	expectError(store.Version{Number: second.Number}, "the epoch is missing")
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "three", 2: "two"}))
}

func conflictLeavesNoTerm(r *fixture) {
	const shard = 25
	v := r.write(r.Store, shard, put(shard, 1, "x"))
	r.expectError(r.Store, store.Batch{Shard: shard, Term: 200, Changes: []store.Change{put(shard, 1, "y")}}, store.ErrConflict,
		"the shard has been written")
	if _, err := r.tryApply(r.Store, store.Batch{Shard: shard, Term: 100, Expect: v, Changes: []store.Change{put(shard, 1, "z")}}); err != nil {
		r.Errorf("Apply with term 100 after ErrConflict for a batch with term 200: got error %v, want none: ErrConflict writes nothing, not even the term", err)
	}
}

func batchKeepsToShard(r *fixture) {
	versions := r.fillShards()
	const shard = 26
	versions[shard] = r.write(r.Store, shard, put(shard, 1, "changed"), drop(shard, 2))
	for i, s := range r.load(r.Handle(), allShards()...) {
		want := map[int]string{1: fmt.Sprintf("one of %d", i), 2: fmt.Sprintf("two of %d", i)}
		if i == shard {
			want = map[int]string{1: "changed"}
		}
		r.expectRecords(s, texts(i, want))
		if s.Version != versions[i] {
			r.Errorf("shard %d after a write to shard %d: got version %+v, want %+v, unchanged", i, shard, s.Version, versions[i])
		}
	}
}

func fenceCases() []testCase {
	return []testCase{
		{"stops lower terms", fenceStops},
		{"comes before a conflict", fenceBeforeConflict},
		{"compares terms as numbers", fenceCompares},
		{"is set by a batch without changes", fenceByEmptyBatch},
		{"lets term 0 pass", fenceByHand},
		{"outlives the records", fenceOutlives},
		{"belongs to one shard", fencePerShard},
		{"stops an old leader under load", fenceInFullRun},
	}
}

// batch returns a batch of one change to the first record.
func batch(shard int, term uint64, expect store.Version, text string) store.Batch {
	return store.Batch{Shard: shard, Term: term, Expect: expect, Changes: []store.Change{put(shard, 1, text)}}
}

func fenceStops(r *fixture) {
	const shard, old, newer = 31, 41, 42
	other := r.Handle()
	v := r.apply(r.Store, batch(shard, old, store.Version{}, "old"))
	v = r.apply(other, batch(shard, newer, v, "newer"))
	for _, s := range []store.Store{r.Store, other} {
		r.expectError(s, batch(shard, old, v, "late"), store.ErrFenced, "a batch with a higher term has been applied")
		r.expectError(s, store.Batch{Shard: shard, Term: old, Expect: v}, store.ErrFenced, "a batch with a higher term has been applied (a batch without changes)")
		v = r.apply(s, batch(shard, newer, v, "the same term goes on"))
	}
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "the same term goes on"}))
}

func fenceBeforeConflict(r *fixture) {
	const shard = 32
	v := r.apply(r.Store, batch(shard, 41, store.Version{}, "old"))
	r.apply(r.Store, batch(shard, 42, v, "newer"))
	r.expectError(r.Store, batch(shard, 41, v, "late"), store.ErrFenced,
		"both errors apply: a leader that gets ErrConflict would read the shard and retry, although it is no longer the leader")
}

// fenceCompares uses terms whose order differs if they are compared as text, as 32 bits or as
// floats.
func fenceCompares(r *fixture) {
	for i, term := range []uint64{10, 100, 1 << 31, 1 << 32, 1<<32 + 1, 999_999_999_999_999, 1_760_000_000_000_001} {
		shard := 33 + i
		v := r.apply(r.Store, batch(shard, term-1, store.Version{}, "old"))
		v = r.apply(r.Store, batch(shard, term, v, "newer"))
		why := fmt.Sprintf("%d is less than %d, which has been applied", term-1, term)
		r.expectError(r.Store, batch(shard, term-1, v, "late"), store.ErrFenced, why)
		r.expectError(r.Store, batch(shard, 9, v, "late"), store.ErrFenced, why)
		r.apply(r.Handle(), batch(shard, term, v, "goes on"))
	}
}

func fenceByEmptyBatch(r *fixture) {
	const shard = 40
	r.apply(r.Store, store.Batch{Shard: shard, Term: 42})
	r.expectError(r.Handle(), batch(shard, 41, store.Version{}, "late"), store.ErrFenced,
		"a batch without changes stores its term, even in a shard that was never written")
	v := r.apply(r.Store, batch(shard, 42, store.Version{}, "x"))
	r.apply(r.Store, store.Batch{Shard: shard, Term: 50, Expect: v})
	r.expectError(r.Handle(), batch(shard, 49, v, "late"), store.ErrFenced, "a batch without changes stores its term")
}

func fenceByHand(r *fixture) {
	const shard = 41
	v := r.apply(r.Store, batch(shard, 42, store.Version{}, "led"))
	v = r.apply(r.Store, batch(shard, 0, v, "by hand"))
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "by hand"}))
	r.expectError(r.Store, batch(shard, 0, store.Version{}, "stale"), store.ErrConflict, "a batch with term 0 is not fenced, but its version is compared")
	r.expectError(r.Store, batch(shard, 41, v, "late"), store.ErrFenced, "a batch with term 0 keeps the term of the shard")
	r.apply(r.Store, batch(shard, 42, v, "led again"))
}

func fenceOutlives(r *fixture) {
	const shard = 42
	v := r.apply(r.Store, batch(shard, 42, store.Version{}, "x"))
	v = r.apply(r.Store, store.Batch{Shard: shard, Term: 42, Expect: v, Changes: []store.Change{drop(shard, 1)}})
	r.expectError(r.Store, batch(shard, 41, v, "late"), store.ErrFenced, "the term belongs to the shard, and stays after its records are deleted")
}

func fencePerShard(r *fixture) {
	r.apply(r.Store, batch(43, 42, store.Version{}, "x"))
	if _, err := r.tryApply(r.Store, batch(44, 41, store.Version{}, "y")); err != nil {
		r.Errorf("Apply with term 41 to shard 44 after term 42 was applied to shard 43: got error %v, want none: a term belongs to one shard", err)
	}
}

// fenceInFullRun starts a new leader while an old one writes as fast as it can. A write of the old
// leader must fail if it begins after the new leader's batch was acknowledged.
func fenceInFullRun(r *fixture) {
	const shard, old, newer, writers, enough = 45, 41, 42, 4, 1000
	stores := r.Handles(writers)
	leader := r.Handle()
	var followed atomic.Bool
	r.Together(writers+1, func(i int) error {
		if i == writers {
			err := r.takeOver(leader, shard, newer)
			followed.Store(true)
			return err
		}
		for n := 1; ; n++ {
			late := followed.Load()
			err := r.increment(stores[i], shard, old)
			switch {
			case errors.Is(err, store.ErrFenced):
				return nil
			case err == nil && late:
				return errors.New("call of Apply with term 41, which began after a batch with term 42 was acknowledged: got no error, want ErrFenced")
			case err != nil && !errors.Is(err, store.ErrConflict):
				return fmt.Errorf("call of Apply with term 41: got error %w, want none, ErrConflict or ErrFenced", err)
			case late && n > enough:
				return fmt.Errorf("call of Apply with term 41 after a batch with term 42: got error %w, want ErrFenced", err)
			case n > enough:
				n = 0
				r.Pause(tolerance)
			}
		}
	})
}

// takeOver waits for a few writes to a shard, and then stores its term in the shard.
func (r *fixture) takeOver(s store.Store, shard int, term uint64) error {
	for end := time.Now().Add(kit.Patience); time.Now().Before(end); r.Pause(time.Millisecond) {
		loaded, err := r.tryLoad(s, shard)
		if err != nil {
			return fmt.Errorf("call of Load: got error %w, want none", err)
		}
		v := loaded[shard].Version
		if v.Number < 5 {
			continue
		}
		_, err = r.tryApply(s, store.Batch{Shard: shard, Term: term, Expect: v})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("a new leader got ErrConflict from shard %d for %v, want its batch to be applied at some time", shard, kit.Patience)
}

// increment adds 1 to the number in the first record, by compare-and-set.
func (r *fixture) increment(s store.Store, shard int, term uint64, more ...store.Change) error {
	loaded, err := r.tryLoad(s, shard)
	if err != nil {
		return fmt.Errorf("call of Load: got error %w, want none", err)
	}
	n, err := number(loaded[shard], 1)
	if err != nil {
		return err
	}
	b := batch(shard, term, loaded[shard].Version, strconv.Itoa(n+1))
	b.Changes = append(b.Changes, more...)
	_, err = r.tryApply(s, b)
	return err
}
