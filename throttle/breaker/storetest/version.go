package storetest

import (
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func versionCases() []testCase {
	one, two, none := put(home, 1, "one"), put(home, 2, "two"), edits()
	return []testCase{
		{"is zero before the first write", func(r *fixture) { newShards(r).expect(r.Store, allShards()...) }},
		{"number counts writes, epoch stays", shardCase(slices.Repeat([]edit{edits(one, two), puts("x").by(1), puts("y").by(2)}, 4)...)},
		{"a batch without changes keeps the version", shardCase(none.under(1), puts("x"), none, none.under(2), none.under(4))},
		{"Versions returns all shards", allShardsInOne},
		{"epoch is the time of the first write", epochIsTime},
		{"epoch changes after data loss", epochAfterLoss},
		{"continues after all records are deleted", shardCase(edits(one, two), edits(drop(home, 1), drop(home, 2)), puts("z").when(never), puts("z"))},
	}
}

func allShardsInOne(r *fixture) {
	m := newShards(r)
	for i := range m.all {
		for range 1 + i%3 {
			m.apply(r.Store, edits(put(i, 1, "x")))
		}
	}
	for _, s := range []store.Store{r.Store, r.Handle()} {
		m.expect(s, allShards()...)
	}
}

func epochIsTime(r *fixture) {
	before := r.versions(r.Store).Now
	v := r.write(r.Store, home, put(home, 1, "x"))
	after := r.versions(r.Store).Now
	epoch := time.UnixMicro(int64(v.Epoch))
	if epoch.Before(before.Add(-time.Second)) || epoch.After(after.Add(time.Second)) {
		r.Errorf("Epoch of a shard: got %d (%v), want the store's time of the first write in microseconds, %v to %v", v.Epoch, epoch, before, after)
	}
}

// epochAfterLoss uses other, empty storage as a store that has lost its data. A manager with an old
// version must not write to the new shard.
func epochAfterLoss(r *fixture) {
	lost, m := newShards(r), newShards(r)
	lost.apply(r.Store, puts("old"))
	r.untilStoreTime(r.versions(r.Store).Now.Add(tolerance))
	emptied := r.emptied()
	old := lost.all[home].version
	stale := puts("stale").when(func(store.Version) store.Version { return old })
	m.expect(emptied, home)
	for _, e := range []edit{stale, puts("new"), stale} {
		m.apply(emptied, e)
		m.expect(emptied, home)
	}
	if begun := m.all[home].version; begun.Epoch == old.Epoch {
		r.Errorf("first version of a shard that was lost: got %+v, want another epoch than that of %+v", begun, old)
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
	const span = 100 * time.Millisecond
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
