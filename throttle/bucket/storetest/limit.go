package storetest

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func limitCases() []testCase {
	return []testCase{
		{"raised", eachAlgorithm(limitRaised)},
		{"lowered", eachAlgorithm(limitLowered)},
		{"another rate", limitOfAnotherRate},
		{"much faster", limitMuchFaster},
		{"another algorithm", limitOfAnotherKind},
		{"another algorithm and back", limitOfBoth},
		{"two keys, two limits", eachAlgorithm(limitOfAnother)},
	}
}

// limitRaised keeps how much was used, and adds what the bucket holds more.
func limitRaised(r *rig, a bucket.Algorithm) {
	key, l := r.key("raised "+a.String()), lasting(15, a)
	l.Capacity = 10
	r.expect("7 of 10", r.take(r.Store, key, l.WithDefaults(), 7, 7), 7, 3)
	l = lasting(15, a)
	r.expect("9 of 15, of which 7 are used", r.take(r.Store, key, l, 9, 9), 0, 8)
	r.expect("8 of 15, of which 7 are used", r.take(r.Store, key, l, 8, 8), 8, 0)
}

// limitLowered denies as long as more is used than the bucket holds now.
func limitLowered(r *rig, a bucket.Algorithm) {
	key, l := r.key("lowered "+a.String()), lasting(20, a)
	low := l
	low.Capacity = 12
	low = low.WithDefaults()
	r.expect("8 of 20", r.take(r.Store, key, l, 8, 8), 8, 12)
	r.expect("5 of 12, of which 8 are used", r.take(r.Store, key, low, 5, 5), 0, 4)
	r.expect("at most 9 of 12, of which 8 are used", r.take(r.Store, key, low, 1, 9), 4, 0)
	low.Capacity = 3
	low = low.WithDefaults()
	r.expect("1 of 3, of which 12 are used", r.take(r.Store, key, low, 1, 1), 0, 0)
	r.expect("peek at 3, of which 12 are used", r.peek(r.Store, key, low), 0, 0)
	left := int64(8)
	if a == bucket.Continuous { // the denial has made an empty bucket of it
		left = 17
	}
	r.expect("peek at 20, of which 12 or 3 are used", r.peek(r.Store, key, l), 0, left)
	r.expect("all that is left of 20", r.take(r.Store, key, l, left, left), left, 0)
}

// limitMuchFaster keeps nobody waiting for longer than an empty bucket of the new limit would, though the old one was to be full much later.
func limitMuchFaster(r *rig) {
	key := r.key("much faster")
	slow := bucket.Limit{Capacity: 1000, Refill: 1, Period: time.Hour}
	quick := bucket.Limit{Capacity: 10, Refill: 10, Period: 3 * time.Second}
	r.expect("all of 1000", r.take(r.Store, key, slow, 1000, 1000), 1000, 0)
	r.expect("none of 10", r.take(r.Store, key, quick, 1, 1), 0, 0)
	r.expect("peek at 1000, which would be full in 3 seconds", r.peek(r.Store, key, slow), 0, 999)
}

// limitOfAnotherRate takes the time until the bucket is full for what it is, whatever the rate was.
func limitOfAnotherRate(r *rig) {
	key := r.key("rate")
	slow := bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}
	quick := bucket.Limit{Capacity: 1000, Refill: 60, Period: time.Hour}
	r.expect("2 of 10", r.take(r.Store, key, slow, 2, 2), 2, 8)
	r.take(r.Store, key, quick, 1000, 1000)
	r.take(r.Store, key, quick, 1, math.MaxInt64)
	r.take(r.Store, key, slow, 1, 1)
	r.giveBack(r.Store, key, quick, 900)
	r.take(r.Store, key, slow, 1, math.MaxInt64)
	r.peek(r.Store, key, quick)
}

// limitOfAnotherKind wants answers that make sense, and all of it back after a Reset.
func limitOfAnotherKind(r *rig) {
	kinds := [2]bucket.Algorithm{bucket.Continuous, bucket.Fixed}
	for i, a := range kinds {
		b, key := kinds[1-i], r.key("from "+a.String())
		r.expect("5 of 9", r.take(r.Store, key, lasting(9, a), 5, 5), 5, 4)
		r.forget(key)
		for _, kind := range []bucket.Algorithm{b, b, a, a, b} {
			r.take(r.Store, key, lasting(9, kind), 1, 2)
			r.peek(r.Store, key, lasting(9, kind))
			r.giveBack(r.Store, key, lasting(9, kind), 1)
			r.forget(key)
		}
		r.reset(r.Store, key)
		r.expect("all after a Reset", r.take(r.Store, key, lasting(9, b), 9, 9), 9, 0)
		r.expect("one more", r.take(r.Store, key, lasting(9, b), 1, 1), 0, 0)
	}
}

// limitOfBoth goes from one algorithm to the other and back. What a Continuous bucket leaves is no use of a Fixed one, which begins its period
// when the other would have been full.
func limitOfBoth(r *rig) {
	fixed := bucket.Limit{Capacity: 5, Period: longest, Algorithm: bucket.Fixed}.WithDefaults()
	quick := bucket.Limit{Capacity: 5, Refill: 1, Period: time.Hour}
	key := r.key("both")
	r.expect("all of a fixed one", r.take(r.Store, key, fixed, 5, 5), 5, 0)
	r.forget(key)
	r.expect("2 of a continuous one", r.take(r.Store, key, quick, 2, 2), 2, 3)
	r.forget(key)
	r.expect("all of a fixed one again", r.take(r.Store, key, fixed, 1, 9), 5, 0)
	r.expect("one more", r.take(r.Store, key, fixed, 1, 1), 0, 0)
}

// limitOfAnother has a request bring the limit, so that a store must not keep one for all.
func limitOfAnother(r *rig, a bucket.Algorithm) {
	few, many := r.key("few "+a.String()), r.key("many "+a.String())
	for n := range int64(3) {
		r.expect("one of few", r.take(r.Store, few, lasting(3, a), 1, 1), 1, 2-n)
		r.expect("one of many", r.take(r.Store, many, lasting(300, a), 1, 1), 1, 299-n)
	}
}
