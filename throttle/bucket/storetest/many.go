package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// withMany makes every second Take of a [store.ManyTaker] a TakeMany, so that each case checks both, and
// both at the same time.
func withMany(open func() store.Store, nonce string) func() store.Store {
	if open == nil {
		return nil
	}
	return func() store.Store {
		s := open()
		many, ok := s.(store.ManyTaker)
		if !ok {
			return s
		}
		return &manyStore{Store: s, many: many, beside: nonce + " beside "}
	}
}

// manyStore is a handle that takes tokens in both ways.
type manyStore struct {
	store.Store

	many   store.ManyTaker
	beside string // start of the keys of other buckets
	takes  atomic.Uint64
}

// Take implements [store.Store]. The TakeMany also takes from two other buckets, which may be those of
// another call.
func (s *manyStore) Take(ctx context.Context, r store.Request) (store.Decision, error) {
	n := s.takes.Add(1)
	if n%2 == 1 {
		return s.Store.Take(ctx, r)
	}
	before, after := r, r
	before.Key, after.Key = fmt.Sprint(s.beside, n%3), fmt.Sprint(s.beside, (n+1)%3)
	answers := s.many.TakeMany(ctx, []store.Request{before, r, after})
	if len(answers) != 3 {
		return store.Decision{}, fmt.Errorf("TakeMany returned %d answers to 3 requests", len(answers))
	}
	return answers[1].Decision, answers[1].Err
}
