package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func limitCases() []testCase {
	return []testCase{
		{"raised", limitRaised},
		{"lowered", limitLowered},
		{"another rate", limitOfAnotherRate},
		{"a much faster rate", limitMuchFaster},
		{"another algorithm", limitOfAnotherKind},
		{"another algorithm and back", limitOfBoth},
		{"two keys, two limits", eachAlgorithm(limitOfAnother)},
	}
}

// limitRaised raises the capacity. The used tokens stay used, and the bucket gains the difference.
func limitRaised(r *fixture) {
	high := slowLimit(15, bucket.Continuous)
	low := high
	low.Capacity = 10
	r.play("raised", high, takes(7, 7, 7, 3).under(low), takes(9, 9, 0, 8), takes(8, 8, 8, 0))
}

// limitLowered lowers the capacity. The used tokens stay used, as far as the new bucket can owe them.
// The other process may still have the old limit: its bucket is charged for what both are granted,
// and a denial does not change it.
func limitLowered(r *fixture) {
	high := slowLimit(20, bucket.Continuous)
	low, lowest := high, high
	low.Capacity, lowest.Capacity = 12, 3
	r.play("lowered", high, takes(8, 8, 8, 12), takes(5, 5, 0, 4).under(low), takes(1, 9, 4, 0).under(low), takes(1, 1, 0, 0).under(low),
		peeks(8), takes(8, 8, 8, 0), takes(1, 1, 0, 0).under(lowest))
}

// limitMuchFaster changes to a limit that fills much faster. It fills at its own rate from the first
// denial on, whatever the other limit owes.
func limitMuchFaster(r *fixture) {
	key := r.key("much faster")
	slow := bucket.Limit{Capacity: 1000, Refill: 1, Period: time.Hour}
	quick := bucket.Limit{Capacity: 10, Refill: 10, Period: time.Second}
	r.expect("Take 1000 of 1000", r.take(r.Store, key, slow, 1000, 1000), 1000, 0)
	r.expect("Take 1 of 10, just after the limit changed from 1000", r.take(r.Store, key, quick, 1, 1), 0, 0)
	r.Pause(150 * time.Millisecond)
	r.expect("Take 1 of 1000, all used", r.take(r.Store, key, slow, 1, 1), 0, 0)
	if o := r.take(r.Store, key, quick, 1, 1); o.decision.Granted != 1 {
		r.Fatalf("%skey %.60q, %s: want a token: one is added each 100ms, since the first denial", r.prefix, key, o)
	}
}

// limitOfAnotherRate changes the rate. The used tokens stay used.
func limitOfAnotherRate(r *fixture) {
	slow := bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}
	quick := bucket.Limit{Capacity: 1000, Refill: 60, Period: time.Hour}
	r.play("rate", slow, takes(2, 2, 2, 8), takes(1000, 1000, 0, 998).under(quick), takes(998, 998, 998, 0).under(quick),
		takes(1, 1, 0, 0), takes(1, 1, 0, 0).under(quick), returns(5))
	r.take(r.Store, r.key("rate"), slow, 1, math.MaxInt64)
	r.peek(r.Store, r.key("rate"), quick)
}

// limitOfAnotherKind changes the algorithm. Answers must be consistent, and a Reset must fill the
// bucket.
func limitOfAnotherKind(r *fixture) {
	kinds := [2]bucket.Algorithm{bucket.Continuous, bucket.Fixed}
	for i, a := range kinds {
		b, key := kinds[1-i], r.key("from "+a.String())
		r.expect("Take 5 of 9", r.take(r.Store, key, slowLimit(9, a), 5, 5), 5, 4)
		for _, kind := range []bucket.Algorithm{b, b, a, a, b} {
			r.take(r.Store, key, slowLimit(9, kind), 1, 2)
			r.peek(r.Store, key, slowLimit(9, kind))
			r.giveBack(r.Store, key, slowLimit(9, kind), 1)
		}
		r.reset(r.Store, key)
		r.expect("Take of the whole capacity after a Reset", r.take(r.Store, key, slowLimit(9, b), 9, 9), 9, 0)
		r.expect("Take 1 of an empty bucket", r.take(r.Store, key, slowLimit(9, b), 1, 1), 0, 0)
	}
}

// limitOfBoth changes the algorithm, and checks what the bucket then owes: what a Fixed bucket has
// used, a Continuous one owes, and the other way round.
func limitOfBoth(r *fixture) {
	fixed := bucket.Limit{Capacity: 5, Period: longest, Algorithm: bucket.Fixed}.WithDefaults()
	quick := bucket.Limit{Capacity: 5, Refill: 1, Period: time.Hour}
	key := r.key("from fixed")
	first := r.take(r.Store, key, fixed, 5, 5)
	r.expect("Take 5 of a Fixed bucket", first, 5, 0)
	before := store.Level{At: 3 * int64(longest), Used: 5, Period: int64(longest), Capacity: 5}
	for _, l := range []bucket.Limit{quick, {Capacity: 9, Refill: 9, Period: longest, Algorithm: bucket.Fixed}} {
		_, want := before.Take(l, 4*int64(longest)-int64(first.decision.ResetAfter), 0, 0)
		r.expect("peek at the bucket with another limit", r.peek(r.Store, key, l), 0, want.Remaining)
	}
	key = r.key("from continuous")
	r.expect("Take 5 of a Continuous bucket", r.take(r.Store, key, quick, 5, 5), 5, 0)
	r.expect("Take 1 of the bucket as Fixed", r.take(r.Store, key, fixed, 1, 1), 0, 0)
	r.expect("Take 1 of the bucket as Continuous again", r.take(r.Store, key, quick, 1, 1), 0, 0)
}

// limitOfAnother uses a different limit for each key.
func limitOfAnother(r *fixture, a bucket.Algorithm) {
	many := slowLimit(300, a)
	r.play("limits "+a.String(), slowLimit(3, a), takes(1, 1, 1, 2), takes(1, 1, 1, 299).of("many").under(many), takes(1, 1, 1, 1),
		takes(1, 1, 1, 298).of("many").under(many), takes(1, 1, 1, 0), takes(1, 1, 1, 297).of("many").under(many))
}

func extremeCases() []testCase {
	const tenYears = 10 * longest
	return []testCase{
		{"a token per nanosecond for ten years", extreme(bucket.Limit{Capacity: int64(tenYears), Refill: 1000, Period: time.Microsecond})},
		{"a token per nanosecond, capacity 1", extreme(bucket.Limit{Capacity: 1, Refill: 1000, Period: time.Microsecond})},
		{"ten tokens, one per year", extreme(bucket.Limit{Capacity: 10, Refill: 1, Period: longest})},
		{"one token per year", extreme(bucket.Limit{Capacity: 1, Refill: 1, Period: longest})},
		{"as many tokens as a year has nanoseconds", extreme(bucket.Limit{Capacity: int64(longest), Refill: int64(longest), Period: longest})},
		{"a fractional interval", extreme(bucket.Limit{Capacity: 1_000_003, Refill: 999_983, Period: 7 * time.Hour})},
		{"one token per microsecond", extreme(bucket.Limit{Capacity: 1, Refill: 1, Period: time.Microsecond})},
		{"Fixed, maximum capacity per year", extreme(bucket.Limit{Capacity: math.MaxInt64, Period: longest, Algorithm: bucket.Fixed})},
		{"Fixed, maximum capacity per microsecond", extreme(bucket.Limit{Capacity: math.MaxInt64, Period: time.Microsecond, Algorithm: bucket.Fixed})},
		{"Fixed, one per microsecond", extreme(bucket.Limit{Capacity: 1, Period: time.Microsecond, Algorithm: bucket.Fixed})},
		{"Fixed, one per year", extreme(bucket.Limit{Capacity: 1, Period: longest, Algorithm: bucket.Fixed})},
	}
}

// extreme makes the requests at the edges of a limit. step checks every answer.
func extreme(l bucket.Limit) func(*fixture) {
	l = l.WithDefaults()
	return func(r *fixture) {
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

func keyCases() []testCase {
	return []testCase{
		{"any bytes", keysOfAnyBytes},
		{"long keys", keysThatAreLong},
		{"many keys", manyKeys},
	}
}

// apart uses one bucket after the other. No bucket may change because another one is used.
func (r *fixture) apart(keys []string) {
	r.Helper()
	l := slowLimit(2, bucket.Continuous)
	r.prefix = "similar keys must have different buckets: "
	for _, key := range keys {
		r.expect(fmt.Sprintf("first Take of key %.60q", key), r.take(r.Store, key, l, 1, 2), 2, 0)
	}
	other := r.Handle()
	for _, key := range keys {
		r.expect(fmt.Sprintf("Take of key %.60q, whose bucket is empty", key), r.take(other, key, l, 1, 1), 0, 0)
	}
	for i, key := range keys {
		if i%2 == 0 {
			r.giveBack(other, key, l, 1)
		} else {
			r.reset(other, key)
		}
	}
	for i, key := range keys {
		want := int64(1 + i%2)
		r.expect(fmt.Sprintf("Take of key %.60q, to which %d were returned", key, want), r.take(r.Store, key, l, 1, 2), want, 0)
	}
	for _, key := range keys {
		r.reset(r.Store, key)
	}
}

func keysOfAnyBytes(r *fixture) {
	keys := []string{""}
	for _, odd := range []string{
		"k", "K", "k ", "k  ", " k", "k\t", "k\n", "k\x00", "k\x00\x00", "\x00", "\x00k", "\xff", "\xfe\xff", "\xc3\x28", "k\xff", "k\xfe",
		"ß", "ss", "SS", "é", "e\u0301", "É", "ı", "i", "İ", "I", "ﬁ", "fi", "\ufeffk", "\u200bk", "👍", "'", `"`, "`", `\`, `\'`, "'; DROP TABLE x; --", "?", "$1", ":1", "@p1",
		"%", "_", "%s", "%00", "{k}", "{}", "}", "{ns}", "*", "[k]", "k:k", ":", "/", "#", "+", "%2B", "a=b&c", "../k", "NULL", "0", "00", "1e0", "1",
	} {
		keys = append(keys, r.key(odd), odd+r.nonce)
	}
	r.reset(r.Store, "")
	r.apart(keys)
}

// keysThatAreLong uses keys around the usual maximum lengths of columns and indexes.
func keysThatAreLong(r *fixture) {
	var keys []string
	for _, n := range []int{127, 128, 129, 159, 160, 161, 190, 191, 192, 193, 254, 255, 256, 257, 1024, 10_000} {
		start := r.key(strings.Repeat("k", n-len(r.key("x"))))
		keys = append(keys, start+"k", start+"l", start+" ", start+"\x00", start+"\xff")
	}
	r.apart(keys)
}

func manyKeys(r *fixture) {
	keys := make([]string, 150)
	for i := range keys {
		keys[i] = r.key(fmt.Sprint(i))
	}
	r.apart(keys)
}
