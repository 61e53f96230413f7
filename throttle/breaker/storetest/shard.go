package storetest

import (
	"errors"
	"slices"

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

// shardCase returns a case that makes edits to an empty shard. A shardModel checks all answers.
func shardCase(script ...edit) func(*fixture) {
	return func(r *fixture) {
		r.Helper()
		m, handles := newShardModel(r), append([]store.Store{r.Store}, r.Handles(2)...)
		for _, e := range script {
			m.apply(handles[e.handle], e)
			m.expect(handles[(e.handle+1)%len(handles)])
		}
	}
}

// shardModel is what a store must have of the shard home.
type shardModel struct {
	*fixture

	version store.Version
	term    uint64
	records map[store.RecordID][]byte
}

func newShardModel(r *fixture) *shardModel {
	return &shardModel{fixture: r, records: map[store.RecordID][]byte{}}
}

// apply makes an edit, and expects the answer that the rules of [store.Store] demand.
func (m *shardModel) apply(s store.Store, e edit) {
	m.Helper()
	b := store.Batch{Shard: home, Term: e.term, Expect: m.version, Changes: e.changes}
	if e.at != nil {
		b.Expect = e.at(m.version)
	}
	why, want := m.verdict(b)
	v, err := m.tryApply(s, b)
	if !errors.Is(err, want) {
		m.Fatalf("Apply with term %d, Expect %+v and %d changes, to a shard at version %+v and term %d: got error %v, want %v: %s",
			b.Term, b.Expect, len(b.Changes), m.version, m.term, err, want, why)
	}
	if err != nil {
		return
	}
	if !m.follows(v, b) {
		m.Fatalf("Apply of %d changes: got version %+v after %+v, want the next number and the same epoch: "+
			"a batch with changes counts once, and one without keeps the version", len(b.Changes), v, m.version)
	}
	m.version, m.term = v, max(m.term, b.Term)
	for _, c := range b.Changes {
		if m.records[c.ID] = c.Data; c.Data == nil {
			delete(m.records, c.ID)
		}
	}
}

// verdict returns the error that a batch must get, and why.
func (m *shardModel) verdict(b store.Batch) (why string, err error) {
	switch {
	case b.Term != 0 && b.Term < m.term:
		return "a batch with a higher term has been applied", store.ErrFenced
	case b.Expect != m.version:
		return "the shard has another version", store.ErrConflict
	}
	return "the version is the current one, and the term is 0 or not lower", nil
}

// follows reports whether a batch may lead to a version. A batch that deletes only records that do not
// exist may count as a write or not.
func (m *shardModel) follows(v store.Version, b store.Batch) bool {
	writes := func(c store.Change) bool { return c.Data != nil || m.records[c.ID] != nil }
	if v == m.version && !slices.ContainsFunc(b.Changes, writes) {
		return true
	}
	sameEpoch := v.Epoch == m.version.Epoch || m.version.Number == 0 && v.Epoch != 0
	return len(b.Changes) > 0 && v.Number == m.version.Number+1 && sameEpoch
}

// expect expects a handle to return what the model has.
func (m *shardModel) expect(s store.Store) {
	m.Helper()
	m.expectVersion(s, home, m.version)
	m.expectRecords(m.shard(s, home), m.records)
}
