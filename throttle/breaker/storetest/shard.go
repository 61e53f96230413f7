package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// home is the shard that cases with one shard use.
const home = 1

// edit is a batch of a case. It expects the current version, unless at returns another.
type edit struct {
	changes []store.Change
	term    uint64
	at      func(current store.Version) store.Version
	handle  int
}

// shard returns the shard of the first change.
func (e edit) shard() int {
	if len(e.changes) == 0 {
		return home
	}
	return e.changes[0].ID.Shard()
}

// edits is an edit that makes these changes, or none.
func edits(changes ...store.Change) edit { return edit{changes: changes} }

// puts is an edit that writes the first record.
func puts(text string) edit { return edits(put(home, 1, text)) }

// under sets the term.
func (e edit) under(term uint64) edit {
	e.term = term
	return e
}

// by makes the edit with another handle.
func (e edit) by(handle int) edit {
	e.handle = handle
	return e
}

// when makes the edit expect another version, as one that was made of an old one.
func (e edit) when(at func(current store.Version) store.Version) edit {
	e.at = at
	return e
}

// never returns the version of a shard that was never written.
func never(store.Version) store.Version { return store.Version{} }

// off returns a func that adds to a version.
func off(epoch, number int) func(store.Version) store.Version {
	return func(v store.Version) store.Version {
		return store.Version{Epoch: v.Epoch + uint64(epoch), Number: v.Number + uint64(number)}
	}
}

// shardCase returns a case that makes edits to empty shards. A model checks all answers.
func shardCase(script ...edit) func(*fixture) {
	return func(r *fixture) {
		r.Helper()
		m, handles := newShards(r), append([]store.Store{r.Store}, r.Handles(2)...)
		for _, e := range script {
			m.apply(handles[e.handle], e)
			m.expect(handles[(e.handle+1)%len(handles)], e.shard())
		}
	}
}

// shards is what a store must have in its shards.
type shards struct {
	*fixture

	all [store.NumShards]shard
}

type shard struct {
	version store.Version
	term    uint64
	records map[store.RecordID][]byte
}

func newShards(r *fixture) *shards {
	m := &shards{fixture: r}
	for i := range m.all {
		m.all[i].records = map[store.RecordID][]byte{}
	}
	return m
}

// filledShards returns shards with two records each.
func filledShards(r *fixture) *shards {
	r.Helper()
	m := newShards(r)
	for i := range m.all {
		m.apply(r.Store, edits(put(i, 1, fmt.Sprintf("one of %d", i)), put(i, 2, fmt.Sprintf("two of %d", i))))
	}
	return m
}

// apply makes an edit, and expects the answer that the rules of [store.Store] demand.
func (m *shards) apply(s store.Store, e edit) {
	m.Helper()
	d := &m.all[e.shard()]
	b := store.Batch{Shard: e.shard(), Term: e.term, Expect: d.version, Changes: e.changes}
	if e.at != nil {
		b.Expect = e.at(d.version)
	}
	why, want := d.verdict(b)
	v, err := m.tryApply(s, b)
	if !errors.Is(err, want) {
		m.Fatalf("Apply with term %d, Expect %+v and %d changes, to a shard at version %+v and term %d: got error %v, want %v: %s",
			b.Term, b.Expect, len(b.Changes), d.version, d.term, err, want, why)
	}
	if err != nil {
		return
	}
	if !d.follows(v, b) {
		m.Fatalf("Apply of %d changes: got version %+v after %+v, want the next number and the same epoch: "+
			"a batch with changes counts once, and one without keeps the version", len(b.Changes), v, d.version)
	}
	d.version, d.term = v, max(d.term, b.Term)
	for _, c := range b.Changes {
		if d.records[c.ID] = c.Data; c.Data == nil {
			delete(d.records, c.ID)
		}
	}
}

// verdict returns the error that a batch must get, and why.
func (d *shard) verdict(b store.Batch) (why string, err error) {
	switch {
	case b.Term != 0 && b.Term < d.term:
		return "a batch with a higher term has been applied", store.ErrFenced
	case b.Expect != d.version:
		return "the shard has another version", store.ErrConflict
	}
	return "the version is the current one, and the term is 0 or not lower", nil
}

// follows reports whether a batch may lead to a version. A batch that deletes only records that do not
// exist may count as a write or not.
func (d *shard) follows(v store.Version, b store.Batch) bool {
	writes := func(c store.Change) bool { return c.Data != nil || d.records[c.ID] != nil }
	if v == d.version && !slices.ContainsFunc(b.Changes, writes) {
		return true
	}
	sameEpoch := v.Epoch == d.version.Epoch || d.version.Number == 0 && v.Epoch != 0
	return len(b.Changes) > 0 && v.Number == d.version.Number+1 && sameEpoch
}

// expect expects Versions and Load to return what these shards must have.
func (m *shards) expect(s store.Store, some ...int) {
	m.Helper()
	versions := m.versions(s).Shards
	for i, loaded := range m.load(s, some...) {
		want := m.all[i]
		if versions[i] != want.version || loaded.Version != want.version {
			m.Errorf("shard %d: got version %+v of Versions and %+v of Load(%v), want %+v", i, versions[i], loaded.Version, some, want.version)
		}
		m.expectRecords(loaded, want.records)
	}
}

// allShards returns the indexes of all shards.
func allShards() []int {
	all := make([]int, store.NumShards)
	for i := range all {
		all[i] = i
	}
	return all
}

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
