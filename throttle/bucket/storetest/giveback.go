package storetest

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func returnCases() []testCase {
	return []testCase{
		{"gives back as many", eachAlgorithm(returnSome)},
		{"never above capacity", eachAlgorithm(returnMuch)},
		{"to a bucket that nobody knows", eachAlgorithm(returnToUnknown)},
		{"nothing, and less than that", eachAlgorithm(returnNothing)},
		{"to one bucket only", eachAlgorithm(returnToOne)},
		{"what was taken in another period is lost", returnTooLate},
	}
}

func returnSome(r *rig, a bucket.Algorithm) {
	key, l := r.key("some "+a.String()), lasting(20, a)
	r.take(r.Store, key, l, 20, 20)
	for n := int64(1); n < 5; n++ {
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after a Return", r.peek(r.Store, key, l), 0, n)
		r.expect("as many as were returned", r.take(r.Store, key, l, n, n), n, 0)
		r.expect("one more", r.take(r.Store, key, l, 1, 1), 0, 0)
	}
}

func returnMuch(r *rig, a bucket.Algorithm) {
	l := lasting(6, a)
	for _, n := range []int64{4, 5, 6, 7, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		key := r.key(a.String())
		r.take(r.Store, key, l, 4, 4)
		r.giveBack(r.Store, key, l, n)
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after more was returned than taken", r.peek(r.Store, key, l), 0, 6)
		r.expect("all", r.take(r.Store, key, l, 1, math.MaxInt64), 6, 0)
		r.expect("one more", r.take(r.Store, key, l, 1, 1), 0, 0)
		r.reset(r.Store, key)
	}
}

func returnToUnknown(r *rig, a bucket.Algorithm) {
	key, l := r.key("unknown "+a.String()), lasting(3, a)
	r.giveBack(r.Store, key, l, 2)
	r.expect("peek", r.peek(r.Store, key, l), 0, 3)
	r.expect("more than all", r.take(r.Store, key, l, 1, 5), 3, 0)
	r.expect("one more", r.take(r.Store, key, l, 1, 1), 0, 0)
}

func returnNothing(r *rig, a bucket.Algorithm) {
	key, l := r.key("nothing "+a.String()), lasting(5, a)
	r.take(r.Store, key, l, 3, 3)
	for _, n := range []int64{0, -1, -5, math.MinInt64} {
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after less than one token was returned", r.peek(r.Store, key, l), 0, 2)
	}
	r.take(r.Store, key, l, 2, 2)
	r.giveBack(r.Store, key, l, 0)
	r.expect("one of none", r.take(r.Store, key, l, 1, 1), 0, 0)
}

func returnToOne(r *rig, a bucket.Algorithm) {
	one, other, l := r.key("one "+a.String()), r.key("other "+a.String()), lasting(3, a)
	r.take(r.Store, one, l, 3, 3)
	r.take(r.Store, other, l, 3, 3)
	r.giveBack(r.Store, one, l, 2)
	r.expect("peek at the other", r.peek(r.Store, other, l), 0, 0)
	r.expect("peek at the one", r.peek(r.Store, one, l), 0, 2)
}

// returnTooLate returns tokens of a period that is over, which the present one must not get.
func returnTooLate(r *rig) {
	l := bucket.Limit{Capacity: 4, Period: 40 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	for range 3 {
		key := r.key("late")
		o := r.take(r.Store, key, l, 1, 4)
		r.waits(o.returned + int64(o.decision.ResetAfter))
		r.giveBack(r.Store, key, l, 4)
		r.take(r.Store, key, l, 1, 9)
		r.take(r.Store, key, l, 1, 9)
	}
}
