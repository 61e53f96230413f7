package storetest

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func snapshotCases() []testCase {
	return []testCase{
		{"is of one instant", snapshotOfInstant},
		{"is not older than Versions said", snapshotNotOlder},
	}
}

const flips = 300

// flip writes the number of the write into some records at once, many times, and says so when it is done.
func (r *rig) flip(s store.Store, shard, records int, done *atomic.Bool) error {
	defer done.Store(true)
	var v store.Version
	for n := 1; n <= flips; n++ {
		changes := make([]store.Change, records)
		for i := range changes {
			changes[i] = put(shard, i, strconv.Itoa(n))
		}
		next, err := r.tryApply(s, store.Batch{Shard: shard, Expect: v, Changes: changes})
		if err != nil {
			return fmt.Errorf("the only writer of shard %d: %w", shard, err)
		}
		v = next
	}
	return nil
}

// checkFlip wants all records to be of the write that the version counts.
func checkFlip(s store.Shard, records int) error {
	if s.Version.Number == 0 && len(s.Records) == 0 {
		return nil
	}
	if len(s.Records) != records {
		return fmt.Errorf("shard %d as loaded at %+v has %d records, want %d, which are always written together", s.Index, s.Version, len(s.Records), records)
	}
	for i := range records {
		n, err := number(s, i)
		if err != nil {
			return err
		}
		if uint64(n) != s.Version.Number {
			return fmt.Errorf("shard %d as loaded at %+v: record %d is of write number %d, want a shard as it was at one instant, version and all records",
				s.Index, s.Version, i, n)
		}
	}
	return nil
}

func snapshotOfInstant(r *rig) {
	const shards, readers, records = 2, 4, 8
	stores := r.Handles(shards + readers)
	var done [shards]atomic.Bool
	r.Together(shards+readers, func(i int) error {
		if i < shards {
			return r.flip(stores[i], i, records, &done[i])
		}
		for !done[0].Load() || !done[1].Load() {
			loaded, err := r.tryLoad(stores[i], 0, 1)
			if err != nil {
				return fmt.Errorf("reading with Load: %w", err)
			}
			for _, s := range loaded {
				if err := checkFlip(s, records); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for i, s := range r.load(r.Store, 0, 1) {
		if err := checkFlip(s, records); err != nil || s.Version.Number != flips {
			r.Errorf("shard %d in the end: got version %+v (%v), want number %d", i, s.Version, err, flips)
		}
	}
}

// snapshotNotOlder reads as a manager does. One that is told of a version and then loads an older one would not look again.
func snapshotNotOlder(r *rig) {
	const shard, readers = 3, 4
	stores := r.Handles(1 + readers)
	var done atomic.Bool
	r.Together(1+readers, func(i int) error {
		if i == readers {
			return r.flip(stores[i], shard, 1, &done)
		}
		for last := (store.Version{}); !done.Load(); {
			versions, err := r.tryVersions(stores[i])
			if err != nil {
				return fmt.Errorf("reading with Versions: %w", err)
			}
			loaded, err := r.tryLoad(stores[i], shard)
			if err != nil {
				return fmt.Errorf("reading with Load: %w", err)
			}
			told, got := versions.Shards[shard], loaded[shard].Version
			if got.Number < told.Number || told.Number < last.Number {
				return fmt.Errorf("shard %d: Load gave %+v, Versions before that %+v, Load before that %+v: want no step back", shard, got, told, last)
			}
			last = got
		}
		return nil
	})
}
