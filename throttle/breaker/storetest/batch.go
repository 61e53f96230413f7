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
	one, two, three := put(home, 1, "one"), put(home, 2, "two"), put(home, 3, "three")
	conflict := edits(put(home, 1, "lost"), drop(home, 2), put(home, 3, "lost"))
	conflicts := []edit{conflict.when(off(1, 1)), edits(one, two), puts("new").by(1)}
	for _, at := range []func(store.Version) store.Version{never, off(0, -1), off(0, 1), off(1, 0), off(-1, 0)} {
		conflicts = append(conflicts, conflict.when(at), conflict.when(at).under(100), edits().when(at), edits().when(at).under(100))
	}
	withoutEpoch := func(v store.Version) store.Version { return store.Version{Number: v.Number} }
	return []testCase{
		{"creates, replaces and deletes", shardCase(edits(one, two, three), edits(put(home, 2, "new"), drop(home, 3), put(home, 4, "four")).by(1))},
		{"deletes missing records", shardCase(edits(drop(home, 1)), edits(one), edits(drop(home, 2), drop(home, 3)))},
		{"500 changes", shardCase(largeEdits()...)},
		{"another version is a conflict", shardCase(append(conflicts, conflict.when(withoutEpoch))...)},
		{"a conflict leaves no term", shardCase(puts("x"), puts("y").under(200).when(never), puts("z").under(100))},
		{"changes one shard only", func(r *fixture) {
			m := filledShards(r)
			m.apply(r.Store, edits(put(home, 1, "changed"), drop(home, 2)))
			m.expect(r.Handle(), allShards()...)
		}},
	}
}

// largeEdits writes 500 records, and then replaces a third of them and deletes the others.
func largeEdits() []edit {
	var created, changed []store.Change
	for n := range 500 {
		created = append(created, put(home, n, fmt.Sprintf("record %d", n)))
		if n%3 == 0 {
			changed = append(changed, put(home, n, fmt.Sprintf("new record %d", n)))
		} else {
			changed = append(changed, drop(home, n))
		}
	}
	return []edit{edits(created...), edits(changed...)}
}

func fenceCases() []testCase {
	old, newer := puts("old").under(41), puts("newer").under(42)
	return []testCase{
		{"stops lower terms", shardCase(old, newer.by(1), old, edits().under(41), newer, old.by(1), edits().under(41).by(1), newer.by(1))},
		{"comes before a conflict", shardCase(old, newer, old.when(off(0, -1)))},
		{"compares terms as numbers", shardCase(risingTerms()...)},
		{"is set by a batch without changes", shardCase(edits().under(42), old.by(1), newer, edits().under(50), puts("late").under(49).by(1))},
		{"lets term 0 pass", shardCase(newer, puts("by hand"), puts("stale").when(never), old, newer)},
		{"outlives the records", shardCase(newer, edits(drop(home, 1)).under(42), old)},
		{"belongs to one shard", shardCase(newer, edits(put(home+1, 1, "x")).under(41))},
		{"stops an old leader under load", fenceInFullRun},
	}
}

// risingTerms are terms whose order differs if they are compared as text, as 32 bits or as floats.
func risingTerms() []edit {
	var script []edit
	for _, term := range []uint64{10, 100, 1 << 31, 1 << 32, 1<<32 + 1, 999_999_999_999_999, 1_760_000_000_000_001} {
		late := puts("late").under(term - 1)
		script = append(script, late, puts("newer").under(term), late, puts("late").under(9), puts("goes on").under(term).by(1))
	}
	return script
}

// batch returns a batch of one change to the first record.
func batch(shard int, term uint64, expect store.Version, text string) store.Batch {
	return store.Batch{Shard: shard, Term: term, Expect: expect, Changes: []store.Change{put(shard, 1, text)}}
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
