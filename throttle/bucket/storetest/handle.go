package storetest

import (
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/goroutines"
)

func handleCases() []testCase {
	return []testCase{
		{"Close leaves buckets and others alone", closeLeavesOthers},
		{"Close twice is fine", closeTwice},
		{"use leaves no goroutine", useLeavesNone},
		{"Close leaves no goroutine", closeLeavesNone},
	}
}

func closeLeavesOthers(r *rig) {
	first, second := r.handle(), r.handle()
	key, l := r.key("others"), lasting(5, bucket.Continuous)
	r.expect("two by the first handle", r.take(first, key, l, 2, 2), 2, 3)
	r.must(first.Close(), "Close")
	r.expect("two by the second", r.take(second, key, l, 2, 2), 2, 1)
	r.expect("two by a new one", r.take(r.handle(), key, l, 2, 2), 0, 1)
}

func closeTwice(r *rig) {
	s := r.handle()
	key, l := r.key("twice"), lasting(3, bucket.Continuous)
	r.take(s, key, l, 1, 1)
	r.must(s.Close(), "Close")
	r.must(s.Close(), "second Close")
	r.must(r.handle().Close(), "Close of a handle that was not used")
	r.expect("peek", r.peek(r.handle(), key, l), 0, 2)
}

// must fails the case if there is an error.
func (r *rig) must(err error, what string) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: got error %v, want none", what, err)
	}
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
	for what, o := range calls(r.key("used"), lasting(1000, bucket.Continuous)) {
		r.must(r.returns(r.Context(), what, s, o), what)
		_ = r.returns(over, what, s, o) // another case is about the error
	}
}
