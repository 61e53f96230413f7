package storetest

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func extremeCases() []testCase {
	const tenYears = 10 * longest
	return []testCase{
		{"a token per nanosecond for ten years", extreme(bucket.Limit{Capacity: int64(tenYears), Refill: 1000, Period: time.Microsecond})},
		{"a token per nanosecond, and one in all", extreme(bucket.Limit{Capacity: 1, Refill: 1000, Period: time.Microsecond})},
		{"ten tokens, one per year", extreme(bucket.Limit{Capacity: 10, Refill: 1, Period: longest})},
		{"one token per year", extreme(bucket.Limit{Capacity: 1, Refill: 1, Period: longest})},
		{"as many tokens as a year has nanoseconds", extreme(bucket.Limit{Capacity: int64(longest), Refill: int64(longest), Period: longest})},
		{"a rate that is no whole number", extreme(bucket.Limit{Capacity: 1_000_003, Refill: 999_983, Period: 7 * time.Hour})},
		{"one token per microsecond", extreme(bucket.Limit{Capacity: 1, Refill: 1, Period: time.Microsecond})},
		{"fixed, very many per year", extreme(bucket.Limit{Capacity: math.MaxInt64, Period: longest, Algorithm: bucket.Fixed})},
		{"fixed, very many per microsecond", extreme(bucket.Limit{Capacity: math.MaxInt64, Period: time.Microsecond, Algorithm: bucket.Fixed})},
		{"fixed, one per microsecond", extreme(bucket.Limit{Capacity: 1, Period: time.Microsecond, Algorithm: bucket.Fixed})},
		{"fixed, one per year", extreme(bucket.Limit{Capacity: 1, Period: longest, Algorithm: bucket.Fixed})},
	}
}

// extreme goes through what can be asked of a limit at its edges. Each answer is compared.
func extreme(l bucket.Limit) func(*rig) {
	l = l.WithDefaults()
	return func(r *rig) {
		if err := l.Validate(); err != nil {
			r.Fatalf("%v", err)
		}
		key, half := r.key("extreme"), max(1, l.Capacity/2)
		for range 2 {
			r.peek(r.Store, key, l)
			r.take(r.Store, key, l, 1, 1)
			r.take(r.Store, key, l, 0, half)
			r.take(r.Store, key, l, l.Capacity, l.Capacity)
			r.take(r.Store, key, l, half, math.MaxInt64)
			r.take(r.Store, key, l, 1, math.MaxInt64)
			r.take(r.Store, key, l, l.Capacity, math.MaxInt64)
			r.take(r.Store, key, l, 0, math.MaxInt64)
			r.giveBack(r.Store, key, l, 1)
			r.take(r.Store, key, l, 1, 1)
			r.giveBack(r.Store, key, l, half)
			r.peek(r.Store, key, l)
			r.giveBack(r.Store, key, l, l.Capacity)
			r.take(r.Store, key, l, half, half)
			r.giveBack(r.Store, key, l, math.MaxInt64)
			r.peek(r.Store, key, l)
			r.take(r.Store, key, l, l.Capacity, l.Capacity)
			r.reset(r.Store, key)
		}
	}
}
