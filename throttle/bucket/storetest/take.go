package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func takeCases() []testCase {
	return []testCase{
		{"decides as Level.Take does", eachAlgorithm(takeAtRandom)},
		{"grants between Min and Max", eachAlgorithm(takePartly)},
		{"the whole capacity at once", eachAlgorithm(takeAll)},
		{"a denial takes nothing", eachAlgorithm(denyForFree)},
		{"a peek changes nothing", eachAlgorithm(peekForFree)},
		{"handles share buckets", eachAlgorithm(takeByTurns)},
	}
}

// takeAtRandom makes a few hundred random requests. step checks every answer.
func takeAtRandom(r *fixture, a bucket.Algorithm) {
	random := rand.New(rand.NewPCG(9, uint64(a)))
	for _, capacity := range []int64{1, 2, 7, 100} {
		key, l := r.key(a.String()+" "+describe(slowLimit(capacity, a))), slowLimit(capacity, a)
		for range 40 {
			atLeast := random.Int64N(min(capacity, 5) + 1)
			switch random.IntN(8) {
			case 0:
				r.giveBack(r.Store, key, l, random.Int64N(capacity+2))
			case 1:
				r.reset(r.Store, key)
			case 2:
				r.take(r.Store, key, l, atLeast, math.MaxInt64)
			default:
				r.take(r.Store, key, l, atLeast, atLeast+random.Int64N(3))
			}
		}
	}
}

func takePartly(r *fixture, a bucket.Algorithm) {
	key, l := r.key("partly "+a.String()), slowLimit(10, a)
	r.expect("Take 3 to 5 of 10 tokens", r.take(r.Store, key, l, 3, 5), 5, 5)
	r.expect("Take 0 to 1 of 5 tokens", r.take(r.Store, key, l, 0, 1), 1, 4)
	r.expect("Take 5 to 9 of 4 tokens", r.take(r.Store, key, l, 5, 9), 0, 4)
	r.expect("Take 2 to 9 of 4 tokens", r.take(r.Store, key, l, 2, 9), 4, 0)
	r.expect("Take 0 to 9 of an empty bucket", r.take(r.Store, key, l, 0, 9), 0, 0)
	r.expect("Take 1 to MaxInt64 of an empty bucket", r.take(r.Store, key, l, 1, math.MaxInt64), 0, 0)
	other := r.key("very many " + a.String())
	r.expect("Take 1 to MaxInt64 of 10 tokens", r.take(r.Store, other, l, 1, math.MaxInt64), 10, 0)
}

func takeAll(r *fixture, a bucket.Algorithm) {
	key, l := r.key("all "+a.String()), slowLimit(1000, a)
	r.expect("Take of the whole capacity", r.take(r.Store, key, l, 1000, 1000), 1000, 0)
	r.expect("Take of the whole capacity again", r.take(r.Store, key, l, 1000, 1000), 0, 0)
	r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
}

func denyForFree(r *fixture, a bucket.Algorithm) {
	key, l := r.key("denied "+a.String()), slowLimit(5, a)
	r.take(r.Store, key, l, 3, 3)
	for range 20 {
		r.expect("Take 3 of 2 tokens", r.take(r.Store, key, l, 3, 3), 0, 2)
	}
	r.expect("Take of the 2 tokens left, after denials", r.take(r.Store, key, l, 2, 2), 2, 0)
	for range 20 {
		r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
	}
	r.giveBack(r.Store, key, l, 1)
	r.expect("Take of the token that was returned", r.take(r.Store, key, l, 1, 1), 1, 0)
}

// peekForFree peeks at unused, used and empty buckets.
func peekForFree(r *fixture, a bucket.Algorithm) {
	key, l := r.key("peek "+a.String()), slowLimit(3, a)
	for left := int64(3); left >= 0; left-- {
		for range 3 {
			r.expect("peek, which must not change the bucket", r.peek(r.Store, key, l), 0, left)
		}
		if left > 0 {
			r.expect("Take after a peek", r.take(r.Store, key, l, 1, 1), 1, left-1)
		}
	}
	if d := r.peek(r.Store, r.key("never used "+a.String()), l).decision; d.ResetAfter != 0 || d.RetryAfter != 0 {
		r.Errorf("peek at an unused bucket: got %s, want a full bucket", describeDecision(d))
	}
}

func takeByTurns(r *fixture, a bucket.Algorithm) {
	key, l := r.key("turns "+a.String()), slowLimit(12, a)
	stores := append(r.Handles(2), r.Store)
	for n := range 12 {
		r.expect("Take by another handle than before", r.take(stores[n%3], key, l, 1, 1), 1, int64(11-n))
	}
	for _, s := range stores {
		r.expect("Take 1 of an empty bucket", r.take(s, key, l, 1, 1), 0, 0)
	}
	r.giveBack(stores[0], key, l, 2)
	r.expect("Take of tokens that another handle returned", r.take(stores[1], key, l, 2, 2), 2, 0)
	r.reset(stores[1], key)
	r.expect("Take after a Reset by another handle", r.take(stores[2], key, l, 12, 12), 12, 0)
}

func returnCases() []testCase {
	return []testCase{
		{"adds the returned tokens", eachAlgorithm(returnSome)},
		{"never exceeds the capacity", eachAlgorithm(returnMuch)},
		{"to an unused bucket", eachAlgorithm(returnToUnknown)},
		{"zero and negative tokens", eachAlgorithm(returnNothing)},
		{"changes one bucket only", eachAlgorithm(returnToOne)},
		{"tokens of an earlier period are lost", returnTooLate},
	}
}

func returnSome(r *fixture, a bucket.Algorithm) {
	key, l := r.key("some "+a.String()), slowLimit(20, a)
	r.take(r.Store, key, l, 20, 20)
	for n := int64(1); n < 5; n++ {
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after a Return", r.peek(r.Store, key, l), 0, n)
		r.expect("Take of the returned tokens", r.take(r.Store, key, l, n, n), n, 0)
		r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
	}
}

func returnMuch(r *fixture, a bucket.Algorithm) {
	l := slowLimit(6, a)
	for _, n := range []int64{4, 5, 6, 7, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		key := r.key(a.String())
		r.take(r.Store, key, l, 4, 4)
		r.giveBack(r.Store, key, l, n)
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after more tokens were returned than taken", r.peek(r.Store, key, l), 0, 6)
		r.expect("Take of the whole capacity", r.take(r.Store, key, l, 1, math.MaxInt64), 6, 0)
		r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
		r.reset(r.Store, key)
	}
}

func returnToUnknown(r *fixture, a bucket.Algorithm) {
	key, l := r.key("unknown "+a.String()), slowLimit(3, a)
	r.giveBack(r.Store, key, l, 2)
	r.expect("peek after a Return to an unused bucket", r.peek(r.Store, key, l), 0, 3)
	r.expect("Take of more than the capacity after a Return to an unused bucket", r.take(r.Store, key, l, 1, 5), 3, 0)
	r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
}

func returnNothing(r *fixture, a bucket.Algorithm) {
	key, l := r.key("nothing "+a.String()), slowLimit(5, a)
	r.take(r.Store, key, l, 3, 3)
	for _, n := range []int64{0, -1, -5, math.MinInt64} {
		r.giveBack(r.Store, key, l, n)
		r.expect("peek after 0 or fewer tokens were returned", r.peek(r.Store, key, l), 0, 2)
	}
	r.take(r.Store, key, l, 2, 2)
	r.giveBack(r.Store, key, l, 0)
	r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
}

func returnToOne(r *fixture, a bucket.Algorithm) {
	one, other, l := r.key("one "+a.String()), r.key("other "+a.String()), slowLimit(3, a)
	r.take(r.Store, one, l, 3, 3)
	r.take(r.Store, other, l, 3, 3)
	r.giveBack(r.Store, one, l, 2)
	r.expect("peek at another bucket after a Return", r.peek(r.Store, other, l), 0, 0)
	r.expect("peek after a Return", r.peek(r.Store, one, l), 0, 2)
}

// returnTooLate returns tokens of a period that has ended. The current period must not get them.
func returnTooLate(r *fixture) {
	l := bucket.Limit{Capacity: 4, Period: 40 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	for range 3 {
		key := r.key("late")
		o := r.take(r.Store, key, l, 1, 4)
		r.waitUntil(o.returned + int64(o.decision.ResetAfter))
		r.giveBack(r.Store, key, l, 4)
		r.take(r.Store, key, l, 1, 9)
		r.take(r.Store, key, l, 1, 9)
	}
}

func resetCases() []testCase {
	return []testCase{
		{"fills the bucket", eachAlgorithm(resetFills)},
		{"of an unused bucket", resetUnknown},
		{"changes one bucket only", eachAlgorithm(resetFillsOne)},
	}
}

func resetFills(r *fixture, a bucket.Algorithm) {
	key, l := r.key("fills "+a.String()), slowLimit(3, a)
	for range 3 {
		r.expect("Take of the whole capacity", r.take(r.Store, key, l, 3, 3), 3, 0)
		r.expect("Take 1 of an empty bucket", r.take(r.Store, key, l, 1, 1), 0, 0)
		r.reset(r.Store, key)
		r.expect("peek after a Reset", r.peek(r.Store, key, l), 0, 3)
	}
}

func resetUnknown(r *fixture) {
	l := slowLimit(3, bucket.Continuous)
	for times := range 3 {
		key := r.key(fmt.Sprint(times))
		for range times {
			r.reset(r.Store, key)
		}
		r.expect("Take of more than the capacity, after Resets of an unused bucket", r.take(r.Store, key, l, 1, 4), 3, 0)
	}
}

func resetFillsOne(r *fixture, a bucket.Algorithm) {
	one, other, l := r.key("one "+a.String()), r.key("other "+a.String()), slowLimit(3, a)
	r.take(r.Store, one, l, 3, 3)
	r.take(r.Store, other, l, 2, 2)
	r.reset(r.Store, one)
	r.expect("peek at another bucket after a Reset", r.peek(r.Store, other, l), 0, 1)
}
