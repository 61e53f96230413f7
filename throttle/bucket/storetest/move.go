package storetest

import (
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

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
