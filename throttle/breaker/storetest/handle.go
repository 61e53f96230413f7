package storetest

import (
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func handleCases() []testCase {
	return []testCase{
		{"Close leaves others alone", closeLeavesOthers},
		{"Close twice is fine", closeTwice},
		{"use leaves no goroutine", func(r *rig) { r.UseLeavesNoGoroutine(r.useAll) }},
		{"Close leaves no goroutine", func(r *rig) { r.CloseLeavesNoGoroutine(r.useAll) }},
	}
}

func closeLeavesOthers(r *rig) {
	first, second := r.Handle(), r.Handle()
	a := r.wins(first, "a", long, 0, "nobody led")
	r.write(first, 1, put(1, 1, "before"))
	r.Must(first.Close(), "Close")
	r.expectRecords(r.shard(second, 1), texts(1, map[int]string{1: "before"}))
	r.write(second, 1, put(1, 1, "after"))
	r.expectLease("Campaign of b after a's handle was closed, which is no resignation", r.campaign(second, "b", long), "a", a.Term)
	r.take("Probe after another handle was closed", second, r.halfOpen(1), 1)
	r.expectRecords(r.shard(r.Handle(), 1), texts(1, map[int]string{1: "after"}))
}

func closeTwice(r *rig) {
	s := r.Handle()
	r.write(s, 1, put(1, 1, "x"))
	r.CloseTwice(s)
	r.expectRecords(r.shard(r.Handle(), 1), texts(1, map[int]string{1: "x"}))
}

// useAll calls every method, Watch too.
func (r *rig) useAll(s store.Store) {
	r.Helper()
	r.UseAll(s, methods(r.halfOpen(1)))
	if _, ok := s.(store.Watcher); ok {
		w := r.watch(s)
		if r.hear(w, s, 1) == nil { // the cases of Watch check the error
			r.ends(w)
		}
	}
}
