package storetest

import (
	"errors"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/goroutines"
)

func handleCases() []testCase {
	return []testCase{
		{"Close leaves others alone", closeLeavesOthers},
		{"Close twice is fine", closeTwice},
		{"use leaves no goroutine", useLeavesNone},
		{"Close leaves no goroutine", closeLeavesNone},
	}
}

func closeLeavesOthers(r *rig) {
	first, second := r.handle(), r.handle()
	a := r.wins(first, "a", long, 0, "nobody led")
	r.write(first, 1, put(1, 1, "before"))
	r.must(first.Close(), "Close")
	r.expectRecords(r.shard(second, 1), texts(1, map[int]string{1: "before"}))
	r.write(second, 1, put(1, 1, "after"))
	r.expectLease("Campaign of b after a's handle was closed, which is no resignation", r.campaign(second, "b", long), "a", a.Term)
	r.take("Probe after another handle was closed", second, r.halfOpen(1), 1)
	r.expectRecords(r.shard(r.handle(), 1), texts(1, map[int]string{1: "after"}))
}

func closeTwice(r *rig) {
	s := r.handle()
	r.write(s, 1, put(1, 1, "x"))
	r.must(s.Close(), "Close")
	r.must(s.Close(), "second Close")
	r.must(r.handle().Close(), "Close of a handle that was not used")
	r.expectRecords(r.shard(r.handle(), 1), texts(1, map[int]string{1: "x"}))
}

const rounds = 20

// useLeavesNone uses one handle again and again, one call at a time, so that pools of connections do not grow, and counts all goroutines.
func useLeavesNone(r *rig) {
	const tolerance = rounds / 2 // others may come and go, but ours must not pile up
	for range 3 {
		r.useAll(r.store)
	}
	before := allGoroutines()
	for range rounds {
		r.useAll(r.store)
	}
	r.expectGoroutines("each method was used 20 times, also with contexts that are over", before, tolerance, allGoroutines)
}

// closeLeavesNone counts the goroutines of the store's own package, because a handle may bring a client that lives longer.
func closeLeavesNone(r *rig) {
	count := goroutines.Of(r.store)
	r.useAll(r.store)
	before := count()
	for range rounds {
		s := r.handle()
		r.useAll(s)
		r.must(s.Close(), "Close")
	}
	r.expectGoroutines("20 handles were used and closed", before, 1, count)
}

// useAll calls every method, and again with a context that is over.
func (r *rig) useAll(s store.Store) {
	r.Helper()
	over := canceled(r.Context())
	for _, m := range methods(r.halfOpen(1)) {
		err := r.returns(m.name, func() error { return m.call(r.Context(), s) })
		if err != nil && !errors.Is(err, store.ErrConflict) {
			r.Fatalf("%s: got error %v, want none", m.name, err)
		}
		_ = r.returns(m.name, func() error { return m.call(over, s) }) // another case is about the error
	}
	if _, ok := s.(store.Watcher); ok {
		w := r.watch(s)
		if r.hear(w, s, 1) == nil { // another case is about the error
			r.ends(w)
		}
	}
}
