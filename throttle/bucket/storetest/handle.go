package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func closeLeavesOthers(r *fixture) {
	first, second := r.Handle(), r.Handle()
	key, l := r.key("others"), slowLimit(5, bucket.Continuous)
	r.expect("Take 2 by the first handle", r.take(first, key, l, 2, 2), 2, 3)
	r.Must(first.Close(), "Close")
	r.expect("Take 2 by the second handle, after the first was closed", r.take(second, key, l, 2, 2), 2, 1)
	r.expect("Take 2 by a new handle, 1 left", r.take(r.Handle(), key, l, 2, 2), 0, 1)
}

func closeTwice(r *fixture) {
	s := r.Handle()
	key, l := r.key("twice"), slowLimit(3, bucket.Continuous)
	r.take(s, key, l, 1, 1)
	r.CloseTwice(s)
	r.expect("peek by a new handle, after others were closed", r.peek(r.Handle(), key, l), 0, 2)
}

func (r *fixture) useAll(s store.Store) {
	r.UseAll(s, methods(r.key("used"), slowLimit(1000, bucket.Continuous)))
}

type method = kit.Method[store.Store]

// methods returns one call of every method, and more of Take.
func methods(key string, l bucket.Limit) []method {
	one := store.Request{Key: key, Limit: l, Min: 1, Max: 1}
	fixed := one
	fixed.Key, fixed.Limit = key+" fixed", slowLimit(l.Capacity, bucket.Fixed)
	peek := one
	peek.Min, peek.Max = 0, 0
	return []method{
		{Name: "Take", Call: operation{request: one}.call},
		{Name: "Take of a fixed bucket", Call: operation{request: fixed}.call},
		{Name: "Take of 0 tokens", Call: operation{request: peek}.call},
		{Name: "Return", Call: operation{kind: giveBack, request: one}.call},
		{Name: "Reset", Call: operation{kind: reset, request: one}.call},
	}
}

func (o operation) call(ctx context.Context, s store.Store) error {
	_, err := perform(ctx, s, o)
	return err
}

// endedContext calls every method with a context that has ended. Each must return an error and change nothing.
func (r *fixture) endedContext(ctx context.Context) {
	r.Helper()
	key, l := r.key("over"), slowLimit(5, bucket.Continuous)
	r.take(r.Store, key, l, 2, 2)
	for _, m := range methods(key, l) {
		r.RejectsEnded(ctx, m)
		r.expect("peek after "+m.Name+" with a context that had ended", r.peek(r.Store, key, l), 0, 3)
	}
	r.expect("peek at a Fixed bucket after Take with a context that had ended", r.peek(r.Store, key+" fixed", slowLimit(5, bucket.Fixed)), 0, 5)
}

// canceledMeanwhile cancels requests in flight. Granted tokens must be taken; tokens of a canceled
// request may be taken. The store must work afterwards, and must not return the answer to an
// earlier request.
func canceledMeanwhile(r *fixture) {
	const attempts, capacity = 120, 1000
	key, l := r.key("canceled"), slowLimit(capacity, bucket.Continuous)
	other := r.key("canceled, other")
	two := method{Name: "Take", Call: operation{request: store.Request{Key: key, Limit: l, Min: 2, Max: 2}}.call}
	var granted, unknown int64
	r.CancelDuring(attempts, 15*time.Microsecond, func(ctx context.Context, _ int) {
		if err := r.Returns(ctx, r.Store, two); err != nil {
			unknown += 2
		} else {
			granted += 2
		}
		r.take(r.Store, other, slowLimit(1, bucket.Continuous), 0, 0)
	})
	// A canceled request may still be in flight.
	r.forget(key)
	left := r.peek(r.Handle(), key, l).decision.Remaining
	if taken := capacity - left; taken < granted || taken > granted+unknown {
		r.Errorf("%d tokens were granted, and requests for %d were canceled: got %d taken, want %d to %d",
			granted, unknown, taken, granted, granted+unknown)
	}
	for i, s := range []store.Store{r.Store, r.Handle()} {
		key := r.key(fmt.Sprint("still works ", i))
		r.expect("Take of a new bucket, after canceled calls", r.take(s, key, slowLimit(3, bucket.Fixed), 3, 3), 3, 0)
	}
}
