package storetest

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func resetCases() []testCase {
	return []testCase{
		{"fills", eachAlgorithm(resetFills)},
		{"of a bucket that nobody knows", resetUnknown},
		{"fills one bucket only", eachAlgorithm(resetFillsOne)},
	}
}

func resetFills(r *rig, a bucket.Algorithm) {
	key, l := r.key("fills "+a.String()), lasting(3, a)
	for range 3 {
		r.expect("all", r.take(r.Store, key, l, 3, 3), 3, 0)
		r.expect("one more", r.take(r.Store, key, l, 1, 1), 0, 0)
		r.reset(r.Store, key)
		r.expect("peek after a Reset", r.peek(r.Store, key, l), 0, 3)
	}
}

func resetUnknown(r *rig) {
	l := lasting(3, bucket.Continuous)
	for times := range 3 {
		key := r.key(fmt.Sprint(times))
		for range times {
			r.reset(r.Store, key)
		}
		r.expect("more than all", r.take(r.Store, key, l, 1, 4), 3, 0)
	}
}

func resetFillsOne(r *rig, a bucket.Algorithm) {
	one, other, l := r.key("one "+a.String()), r.key("other "+a.String()), lasting(3, a)
	r.take(r.Store, one, l, 3, 3)
	r.take(r.Store, other, l, 2, 2)
	r.reset(r.Store, one)
	r.expect("peek at the other", r.peek(r.Store, other, l), 0, 1)
}
