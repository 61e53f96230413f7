package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func raceCases() []testCase {
	return []testCase{
		{"first write has one winner", firstWriteRace},
		{"no update is lost", noUpdateLost},
		{"shards do not wait for each other", manyShards},
	}
}

// firstWriteRace lets many begin the same shard, which is an insert and not an update to some databases.
func firstWriteRace(r *rig) {
	const writers, rounds = 8, 10
	stores := r.Handles(4)
	for shard := range rounds {
		var winners atomic.Int32
		r.Together(writers, func(i int) error {
			_, err := r.tryApply(stores[i%len(stores)], batch(shard, 0, store.Version{}, strconv.Itoa(i)))
			if err == nil {
				winners.Add(1)
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("first write to shard %d: got error %w, want none or ErrConflict", shard, err)
			}
			return nil
		})
		if n := winners.Load(); n != 1 {
			r.Errorf("first write to shard %d by %d at once: %d were acknowledged, want 1", shard, writers, n)
		}
		if v := r.shard(r.Store, shard).Version; v.Number != 1 {
			r.Errorf("first write to shard %d by %d at once: got version %+v, want number 1", shard, writers, v)
		}
	}
}

// noUpdateLost lets many count in one record, each beside it in one of its own. In the end all must agree on what was acknowledged.
func noUpdateLost(r *rig) {
	const shard, writers, each, enough = 51, 8, 25, 10_000
	stores := r.Handles(4)
	r.Together(writers, func(i int) error {
		for n, attempts := 1, 0; n <= each; attempts++ {
			if attempts > enough {
				return fmt.Errorf("%d of %d writes were acknowledged in %d attempts", n-1, each, attempts)
			}
			err := r.increment(stores[i%len(stores)], shard, 0, put(shard, 100+i, strconv.Itoa(n)))
			if err == nil {
				n++
			} else if !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("increment by compare-and-set: got error %w, want none or ErrConflict", err)
			}
		}
		return nil
	})
	want := map[int]string{1: strconv.Itoa(writers * each)}
	for i := range writers {
		want[100+i] = strconv.Itoa(each)
	}
	s := r.shard(r.Store, shard)
	if total, err := number(s, 1); err != nil || total != writers*each {
		r.Errorf("counter after %d acknowledged increments: got %d (%v): %d updates were lost", writers*each, total, err, writers*each-total)
	}
	r.expectRecords(s, texts(shard, want))
	if s.Version.Number != writers*each {
		r.Errorf("version after %d acknowledged writes: got %+v", writers*each, s.Version)
	}
}

// manyShards lets each writer have a shard of its own. None may fail because of the others: that would be a lock on more than a shard.
func manyShards(r *rig) {
	const writers, each = 8, 20
	stores := r.Handles(4)
	r.Together(writers, func(i int) error {
		for range each {
			if err := r.increment(stores[i%len(stores)], i, 0); err != nil {
				return fmt.Errorf("the only writer of shard %d: got error %w, want none", i, err)
			}
		}
		return nil
	})
	for i := range writers {
		r.expectRecords(r.shard(r.Store, i), texts(i, map[int]string{1: strconv.Itoa(each)}))
	}
}
