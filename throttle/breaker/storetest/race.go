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
		{"shards are independent", manyShards},
	}
}

// firstWriteRace makes concurrent first writes to a shard. For some databases the first write is an
// insert, not an update.
func firstWriteRace(r *fixture) {
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
			r.Errorf("concurrent first writes to shard %d by %d writers: got %d acknowledged, want 1", shard, writers, n)
		}
		if v := r.shard(r.Store, shard).Version; v.Number != 1 {
			r.Errorf("concurrent first writes to shard %d by %d writers: got version %+v, want number 1", shard, writers, v)
		}
	}
}

// noUpdateLost increments one record concurrently. Each writer also counts in a record of its own.
// In the end all counts must match the acknowledged writes.
func noUpdateLost(r *fixture) {
	const shard, writers, each, enough = 51, 8, 25, 10_000
	stores := r.Handles(4)
	r.Together(writers, func(i int) error {
		for n, attempts := 1, 0; n <= each; attempts++ {
			if attempts > enough {
				return fmt.Errorf("got %d of %d writes acknowledged in %d attempts, want all", n-1, each, attempts)
			}
			err := r.increment(stores[i%len(stores)], shard, 0, put(shard, 100+i, strconv.Itoa(n)))
			if err == nil {
				n++
			} else if !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("call of Apply by compare-and-set: got error %w, want none or ErrConflict", err)
			}
		}
		return nil
	})
	want := map[store.RecordID][]byte{idIn(shard, 1): []byte(strconv.Itoa(writers * each))}
	for i := range writers {
		want[idIn(shard, 100+i)] = []byte(strconv.Itoa(each))
	}
	s := r.shard(r.Store, shard)
	if total, err := number(s, 1); err != nil || total != writers*each {
		r.Errorf("counter after %d acknowledged increments: got %d (error %v): %d updates were lost", writers*each, total, err, writers*each-total)
	}
	r.expectRecords(s, want)
	if s.Version.Number != writers*each {
		r.Errorf("version after %d acknowledged writes: got %+v, want that number", writers*each, s.Version)
	}
}

// manyShards gives each writer its own shard. No write may fail because of writes to other shards.
func manyShards(r *fixture) {
	const writers, each = 8, 20
	stores := r.Handles(4)
	r.Together(writers, func(i int) error {
		for range each {
			if err := r.increment(stores[i%len(stores)], i, 0); err != nil {
				return fmt.Errorf("the only writer of shard %d: got error %w, want none: writes to other shards are no conflict", i, err)
			}
		}
		return nil
	})
	for i := range writers {
		r.expectRecords(r.shard(r.Store, i), map[store.RecordID][]byte{idIn(i, 1): []byte(strconv.Itoa(each))})
	}
}

func snapshotCases() []testCase {
	return []testCase{
		{"is of one instant", snapshotOfInstant},
		{"is not older than Versions", snapshotNotOlder},
	}
}

const writeCount = 300

// writeRounds writes the number of the write into several records, many times. It sets done at the
// end.
func (r *fixture) writeRounds(s store.Store, shard, records int, done *atomic.Bool) error {
	defer done.Store(true)
	var v store.Version
	for n := 1; n <= writeCount; n++ {
		changes := make([]store.Change, records)
		for i := range changes {
			changes[i] = put(shard, i, strconv.Itoa(n))
		}
		next, err := r.tryApply(s, store.Batch{Shard: shard, Expect: v, Changes: changes})
		if err != nil {
			return fmt.Errorf("call of Apply by the only writer of shard %d: got error %w, want none", shard, err)
		}
		v = next
	}
	return nil
}

// checkRound expects all records to be from the write that the version counts.
func checkRound(s store.Shard, records int) error {
	if s.Version.Number == 0 && len(s.Records) == 0 {
		return nil
	}
	if len(s.Records) != records {
		return fmt.Errorf("call of Load of shard %d at version %+v: got %d records, want %d, because each write contains all of them", s.Index, s.Version, len(s.Records), records)
	}
	for i := range records {
		n, err := number(s, i)
		if err != nil {
			return err
		}
		if uint64(n) != s.Version.Number {
			return fmt.Errorf("call of Load of shard %d at version %+v: record %d is from write %d, want the version and all records as of one instant",
				s.Index, s.Version, i, n)
		}
	}
	return nil
}

func snapshotOfInstant(r *fixture) {
	const shards, readers, records = 2, 4, 8
	stores := r.Handles(shards + readers)
	var done [shards]atomic.Bool
	r.Together(shards+readers, func(i int) error {
		if i < shards {
			return r.writeRounds(stores[i], i, records, &done[i])
		}
		for !done[0].Load() || !done[1].Load() {
			loaded, err := r.tryLoad(stores[i], 0, 1)
			if err != nil {
				return fmt.Errorf("call of Load: got error %w, want none", err)
			}
			for _, s := range loaded {
				if err := checkRound(s, records); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for i, s := range r.load(r.Store, 0, 1) {
		if err := checkRound(s, records); err != nil || s.Version.Number != writeCount {
			r.Errorf("shard %d after all writes: got version %+v (error %v), want number %d", i, s.Version, err, writeCount)
		}
	}
}

// snapshotNotOlder reads as a manager does. If Load returned an older version than Versions, the
// manager would not read the shard again.
func snapshotNotOlder(r *fixture) {
	const shard, readers = 3, 4
	stores := r.Handles(1 + readers)
	var done atomic.Bool
	r.Together(1+readers, func(i int) error {
		if i == readers {
			return r.writeRounds(stores[i], shard, 1, &done)
		}
		for last := (store.Version{}); !done.Load(); {
			versions, err := r.tryVersions(stores[i])
			if err != nil {
				return fmt.Errorf("call of Versions: got error %w, want none", err)
			}
			loaded, err := r.tryLoad(stores[i], shard)
			if err != nil {
				return fmt.Errorf("call of Load: got error %w, want none", err)
			}
			answered, got := versions.Shards[shard], loaded[shard].Version
			if got.Number < answered.Number || answered.Number < last.Number {
				return fmt.Errorf("shard %d: Load returned version %+v after Versions had returned %+v and the Load before %+v: want no older version", shard, got, answered, last)
			}
			last = got
		}
		return nil
	})
}
