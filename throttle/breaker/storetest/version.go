package storetest

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func versionCases() []testCase {
	return []testCase{
		{"is zero before the first write", zeroBeforeFirst},
		{"number counts writes, epoch stays", numberCounts},
		{"a batch without changes keeps the version", emptyBatchChangesNone},
		{"Versions returns all shards", allShardsInOne},
		{"epoch is the time of the first write", epochIsTime},
		{"epoch changes after data loss", epochAfterLoss},
		{"continues after all records are deleted", goesOnAfterDeletion},
	}
}

// expectVersion expects Versions and Load to return this version of a shard.
func (r *fixture) expectVersion(s store.Store, shard int, want store.Version) {
	r.Helper()
	if got := r.versions(s).Shards[shard]; got != want {
		r.Errorf("Versions().Shards[%d]: got %+v, want %+v", shard, got, want)
	}
	if got := r.shard(s, shard).Version; got != want {
		r.Errorf("Load([%d]).Version: got %+v, want %+v", shard, got, want)
	}
}

func zeroBeforeFirst(r *fixture) {
	for i, v := range r.versions(r.Store).Shards {
		if v != (store.Version{}) {
			r.Errorf("Versions().Shards[%d] of empty storage: got %+v, want the zero Version", i, v)
		}
	}
	r.expectVersion(r.Store, 0, store.Version{})
	r.expectVersion(r.Handle(), store.NumShards-1, store.Version{})
}

func numberCounts(r *fixture) {
	const shard = 7
	stores := append(r.Handles(2), r.Store)
	var v store.Version
	for i := range 12 {
		s := stores[i%len(stores)]
		next := r.apply(s, store.Batch{Shard: shard, Expect: v, Changes: []store.Change{put(shard, i, "x"), put(shard, 0, fmt.Sprint(i))}})
		want := store.Version{Epoch: v.Epoch, Number: v.Number + 1}
		if i == 0 {
			want.Epoch = next.Epoch
		}
		if next != want || next.Epoch == 0 {
			r.Fatalf("Apply, write number %d: got version %+v, want %+v with an epoch above 0: each batch counts once", i+1, next, want)
		}
		v = next
		r.expectVersion(stores[(i+1)%len(stores)], shard, v)
	}
	r.expectVersion(r.Store, shard+1, store.Version{})
}

func emptyBatchChangesNone(r *fixture) {
	const shard = 9
	if v := r.apply(r.Store, store.Batch{Shard: shard, Term: 1}); v != (store.Version{}) {
		r.Errorf("Apply of a batch without changes to a shard that was never written: got version %+v, want the zero Version", v)
	}
	r.expectVersion(r.Store, shard, store.Version{})
	v := r.write(r.Store, shard, put(shard, 1, "x"))
	for term := range uint64(3) {
		if got := r.apply(r.Store, store.Batch{Shard: shard, Term: term * 2, Expect: v}); got != v {
			r.Errorf("Apply of a batch without changes: got version %+v, want %+v, unchanged", got, v)
		}
	}
	r.expectVersion(r.Handle(), shard, v)
	r.expectRecords(r.shard(r.Store, shard), texts(shard, map[int]string{1: "x"}))
}

func allShardsInOne(r *fixture) {
	var want [store.NumShards]store.Version
	for i := range want {
		for range 1 + i%3 {
			want[i] = r.apply(r.Store, store.Batch{Shard: i, Expect: want[i], Changes: []store.Change{put(i, 1, fmt.Sprint(i))}})
		}
	}
	for _, s := range []store.Store{r.Store, r.Handle()} {
		for i, got := range r.versions(s).Shards {
			if got != want[i] {
				r.Errorf("Versions().Shards[%d]: got %+v, want %+v, as Apply returned", i, got, want[i])
			}
			if wantNumber := uint64(1 + i%3); got.Number != wantNumber {
				r.Errorf("Versions().Shards[%d].Number: got %d, want %d, the number of writes", i, got.Number, wantNumber)
			}
		}
	}
}

func epochIsTime(r *fixture) {
	before := r.versions(r.Store).Now
	v := r.write(r.Store, 3, put(3, 1, "x"))
	after := r.versions(r.Store).Now
	epoch := time.UnixMicro(int64(v.Epoch))
	if epoch.Before(before.Add(-time.Second)) || epoch.After(after.Add(time.Second)) {
		r.Errorf("Epoch of a shard: got %d (%v), want the store's time of the first write in microseconds, %v to %v", v.Epoch, epoch, before, after)
	}
}

// epochAfterLoss uses other, empty storage as a store that has lost its data. A manager with an old
// version must not write to the new shard.
func epochAfterLoss(r *fixture) {
	const shard = 5
	old := r.write(r.Store, shard, put(shard, 1, "old"))
	r.untilStoreTime(r.versions(r.Store).Now.Add(tolerance))
	emptied := r.emptied()
	r.expectVersion(emptied, shard, store.Version{})
	r.expectError(emptied, store.Batch{Shard: shard, Expect: old, Changes: []store.Change{put(shard, 1, "stale")}}, store.ErrConflict,
		"the shard was lost and is empty")
	begun := r.write(emptied, shard, put(shard, 1, "new"))
	if begun.Epoch == old.Epoch || begun.Number != old.Number {
		r.Errorf("first version of a shard that was lost: got %+v, want number 1 and another epoch than %+v", begun, old)
	}
	r.expectError(emptied, store.Batch{Shard: shard, Expect: old, Changes: []store.Change{put(shard, 1, "stale")}}, store.ErrConflict,
		"the epoch is part of the version")
}

func goesOnAfterDeletion(r *fixture) {
	const shard = 11
	first := r.write(r.Store, shard, put(shard, 1, "x"), put(shard, 2, "y"))
	empty := r.write(r.Store, shard, drop(shard, 1), drop(shard, 2))
	if want := (store.Version{Epoch: first.Epoch, Number: 2}); empty != want {
		r.Errorf("version after all records were deleted: got %+v, want %+v", empty, want)
	}
	r.expectVersion(r.Handle(), shard, empty)
	r.expectRecords(r.shard(r.Store, shard), nil)
	r.expectError(r.Store, store.Batch{Shard: shard, Changes: []store.Change{put(shard, 1, "z")}}, store.ErrConflict,
		"the shard is empty, but it was written")
	if third, want := r.write(r.Store, shard, put(shard, 1, "z")), (store.Version{Epoch: first.Epoch, Number: 3}); third != want {
		r.Errorf("version of the next write: got %+v, want %+v", third, want)
	}
}

func clockCases() []testCase {
	return []testCase{
		{"has the right unit", clockAboutRight},
		{"keeps pace with local time", clockKeepsPace},
		{"is the same for all handles", clockAgrees},
		{"has fractions of a second", clockIsFine},
	}
}

// clockAboutRight finds wrong units. It does not find a wrong clock.
func clockAboutRight(r *fixture) {
	const day = 24 * time.Hour
	if off := time.Until(r.versions(r.Store).Now); off.Abs() > day {
		r.Errorf("Versions().Now: got a time %v from the local clock, want at most a day: is the unit right?", off)
	}
}

// clockKeepsPace compares two times of the store with the shortest and the longest time between
// them.
func clockKeepsPace(r *fixture) {
	const span = 200 * time.Millisecond
	asked1 := time.Now()
	first := r.versions(r.Store).Now
	answered1 := time.Now()
	r.Pause(span)
	asked2 := time.Now()
	second := r.versions(r.Store).Now
	answered2 := time.Now()
	r.expectBetween("difference of two Versions().Now", second.Sub(first), asked2.Sub(answered1)-span/2, answered2.Sub(asked1)+span/2)
}

func clockAgrees(r *fixture) {
	stores := append(r.Handles(2), r.Store)
	last := r.versions(r.Store).Now
	for i := range 30 {
		now := r.versions(stores[i%len(stores)]).Now
		if now.Before(last.Add(-tolerance)) {
			r.Errorf("Versions().Now: got %v after %v: all handles must return the time of the same clock, the store's", now, last)
		}
		last = now
	}
}

func clockIsFine(r *fixture) {
	for range 8 {
		if r.versions(r.Store).Now.Nanosecond() != 0 {
			return
		}
		r.Pause(7 * time.Millisecond)
	}
	r.Errorf("Versions().Now: got whole seconds 8 times in a row, want milliseconds or better")
}
