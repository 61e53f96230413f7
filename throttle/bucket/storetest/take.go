package storetest

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func takeCases() []testCase {
	return []testCase{
		{"decides as Level.Take does", eachAlgorithm(takeAtRandom)},
		{"grants between Min and Max", play(10, takes(3, 5, 5, 5), takes(0, 1, 1, 4), takes(5, 9, 0, 4), takes(2, 9, 4, 0), takes(0, 9, 0, 0),
			takes(1, math.MaxInt64, 0, 0), takes(1, math.MaxInt64, 10, 0).of("another"))},
		{"the whole capacity at once", play(1000, takes(1000, 1000, 1000, 0), takes(1000, 1000, 0, 0), takes(1, 1, 0, 0))},
		{"a denial takes nothing", play(5, slices.Concat(
			some(takes(3, 3, 3, 2)), slices.Repeat(some(takes(3, 3, 0, 2)), 20),
			some(takes(2, 2, 2, 0)), slices.Repeat(some(takes(1, 1, 0, 0)), 20), some(returns(1), takes(1, 1, 1, 0)))...)},
		{"a peek changes nothing", play(3, peeks(3), peeks(3), takes(1, 1, 1, 2), peeks(2), peeks(2), takes(1, 1, 1, 1), peeks(1), peeks(1),
			takes(1, 1, 1, 0), peeks(0), peeks(0))},
		{"handles share buckets", play(4, takes(1, 1, 1, 3), takes(1, 1, 1, 2).by(1), takes(1, 1, 1, 1).by(2), takes(1, 1, 1, 0),
			takes(1, 1, 0, 0).by(1), takes(1, 1, 0, 0).by(2), returns(2), takes(2, 2, 2, 0).by(1), resets().by(1), takes(4, 4, 4, 0).by(2))},
	}
}

func returnCases() []testCase {
	var much []move
	for _, n := range []int64{4, 5, 6, 7, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		much = append(much, takes(4, 4, 4, 2), returns(n), returns(n), peeks(6), takes(1, math.MaxInt64, 6, 0), takes(1, 1, 0, 0), resets())
	}
	return []testCase{
		{"adds the returned tokens", play(20, takes(20, 20, 20, 0), returns(1), peeks(1), takes(1, 1, 1, 0), takes(1, 1, 0, 0),
			returns(4), peeks(4), takes(4, 4, 4, 0), takes(1, 1, 0, 0))},
		{"never exceeds the capacity", play(6, much...)},
		{"to an unused bucket", play(3, returns(2), peeks(3), takes(1, 5, 3, 0), takes(1, 1, 0, 0))},
		{"zero and negative tokens", play(5, takes(3, 3, 3, 2), returns(0), returns(-1), peeks(2), returns(-5), returns(math.MinInt64), peeks(2),
			takes(2, 2, 2, 0), returns(0), takes(1, 1, 0, 0))},
		{"changes one bucket only", play(3, takes(3, 3, 3, 0), takes(3, 3, 3, 0).of("another"), returns(2), peeks(0).of("another"), peeks(2))},
		{"tokens of an earlier period are lost", returnTooLate},
	}
}

func resetCases() []testCase {
	return []testCase{
		{"fills the bucket", play(3, slices.Repeat(some(takes(3, 3, 3, 0), takes(1, 1, 0, 0), resets(), peeks(3)), 3)...)},
		{"of an unused bucket", play(3, resets(), takes(1, 4, 3, 0), resets().of("another"), resets().of("another"), takes(1, 4, 3, 0).of("another"))},
		{"changes one bucket only", play(3, takes(3, 3, 3, 0), takes(2, 2, 2, 1).of("another"), resets(), peeks(1).of("another"), peeks(3))},
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

// move is an operation of a case, and the answer to it: the tokens granted and left.
type move struct {
	operation

	granted, left int64
	handle        int
}

// takes is a Take that is granted some tokens, or none.
func takes(atLeast, atMost, granted, left int64) move {
	return move{operation: operation{request: store.Request{Min: atLeast, Max: atMost}}, granted: granted, left: left}
}

func peeks(left int64) move { return takes(0, 0, 0, left) }

func returns(n int64) move {
	return move{operation: operation{kind: giveBack, request: store.Request{Max: n}}}
}

func resets() move { return move{operation: operation{kind: reset}} }

// of makes the move on another bucket.
func (m move) of(bucket string) move {
	m.request.Key = bucket
	return m
}

// by makes the move with another handle.
func (m move) by(handle int) move {
	m.handle = handle
	return m
}

// under makes the move with another limit.
func (m move) under(l bucket.Limit) move {
	m.request.Limit = l
	return m
}

// some returns its arguments.
func some(moves ...move) []move { return moves }

// play returns a case that makes moves on new buckets of each algorithm, which get no tokens meanwhile.
func play(capacity int64, moves ...move) func(*fixture) {
	return eachAlgorithm(func(r *fixture, a bucket.Algorithm) { r.play(a.String(), slowLimit(capacity, a), moves...) })
}

// play makes moves on new buckets, and expects their answers.
func (r *fixture) play(name string, l bucket.Limit, moves ...move) {
	r.Helper()
	handles := append([]store.Store{r.Store}, r.Handles(2)...)
	for _, m := range moves {
		m.request.Key = r.key(name + m.request.Key)
		if m.request.Limit == (bucket.Limit{}) {
			m.request.Limit = l
		}
		o := r.step(handles[m.handle], m.operation)
		if m.kind == take {
			r.expect("the answer", o, m.granted, m.left)
		}
	}
}
