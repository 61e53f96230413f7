package storetest

import (
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func handleCases() []testCase {
	return []testCase{
		{"Close leaves buckets and others alone", closeLeavesOthers},
		{"Close twice is fine", closeTwice},
		{"use leaves no goroutine", func(r *rig) { r.UseLeavesNoGoroutine(r.useAll) }},
		{"Close leaves no goroutine", func(r *rig) { r.CloseLeavesNoGoroutine(r.useAll) }},
	}
}

func closeLeavesOthers(r *rig) {
	first, second := r.Handle(), r.Handle()
	key, l := r.key("others"), lasting(5, bucket.Continuous)
	r.expect("two by the first handle", r.take(first, key, l, 2, 2), 2, 3)
	r.Must(first.Close(), "Close")
	r.expect("two by the second", r.take(second, key, l, 2, 2), 2, 1)
	r.expect("two by a new one", r.take(r.Handle(), key, l, 2, 2), 0, 1)
}

func closeTwice(r *rig) {
	s := r.Handle()
	key, l := r.key("twice"), lasting(3, bucket.Continuous)
	r.take(s, key, l, 1, 1)
	r.CloseTwice(s)
	r.expect("peek", r.peek(r.Handle(), key, l), 0, 2)
}

func (r *rig) useAll(s store.Store) {
	r.UseAll(s, methods(r.key("used"), lasting(1000, bucket.Continuous)))
}
