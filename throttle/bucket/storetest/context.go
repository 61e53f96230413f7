package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func contextCases() []testCase {
	return []testCase{
		{"canceled before", func(r *rig) { r.endedContext(canceled(r.Context())) }},
		{"past its deadline", func(r *rig) { r.endedContext(overdue(r.Context())) }},
		{"canceled meanwhile", canceledMeanwhile},
	}
}

func canceled(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	cancel()
	return ctx
}

func overdue(parent context.Context) context.Context {
	ctx, cancel := context.WithDeadline(parent, time.Now().Add(-time.Second))
	cancel()
	return ctx
}

// calls are all methods that take a context, each in its simplest form.
func calls(key string, l bucket.Limit) map[string]operation {
	request := store.Request{Key: key, Limit: l, Min: 1, Max: 1}
	fixed := request
	fixed.Key, fixed.Limit = key+" fixed", lasting(l.Capacity, bucket.Fixed)
	peek := request
	peek.Min, peek.Max = 0, 0
	return map[string]operation{
		"Take": {request: request}, "Take of a fixed bucket": {request: fixed}, "Take of nothing": {request: peek},
		"Return": {kind: giveBack, request: request}, "Reset": {kind: reset, request: request},
	}
}

// returns wants a call to return at all.
func (r *rig) returns(ctx context.Context, what string, s store.Store, o operation) error {
	r.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := perform(ctx, s, o)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		r.Fatalf("%s has not returned for %v: every method must return when its context ends", what, patience)
		return nil
	}
}

// endedContext calls all methods with a context that is over. Each must say so, and must have changed nothing.
func (r *rig) endedContext(ctx context.Context) {
	r.Helper()
	key, l := r.key("over"), lasting(5, bucket.Continuous)
	r.take(r.store, key, l, 2, 2)
	for what, o := range calls(key, l) {
		if err := r.returns(ctx, what, r.store, o); err == nil {
			r.Errorf("%s with a context that is over (%v): got no error, want one", what, ctx.Err())
		}
		r.expect("peek after "+what+" with a context that is over", r.peek(r.store, key, l), 0, 3)
	}
	r.expect("peek at a fixed bucket after the same", r.peek(r.store, key+" fixed", lasting(5, bucket.Fixed)), 0, 5)
}

// canceledMeanwhile cancels requests while they are under way. What was granted must be taken, what was not told may be, and the store must go
// on working: no answer may be taken for that to another question.
func canceledMeanwhile(r *rig) {
	const attempts, capacity = 120, 1000
	key, l := r.key("canceled"), lasting(capacity, bucket.Continuous)
	other := r.key("canceled, other")
	var granted, untold int64
	begin := time.Now()
	for i := range attempts {
		if took := time.Since(begin); took > patience {
			r.Fatalf("%d requests, each canceled within 2 ms, took %v: does a call go on when its context ends, or leave a lock behind?", i, took)
		}
		ctx, cancel := context.WithCancel(r.Context())
		timer := time.AfterFunc(time.Duration(i)*15*time.Microsecond, cancel)
		if err := r.returns(ctx, "Take", r.store, operation{request: store.Request{Key: key, Limit: l, Min: 2, Max: 2}}); err != nil {
			untold += 2
		} else {
			granted += 2
		}
		timer.Stop()
		cancel()
		r.take(r.store, other, lasting(1, bucket.Continuous), 0, 0)
	}
	// One that was canceled may still be under way.
	r.forget(key)
	left := r.peek(r.handle(), key, l).decision.Remaining
	if taken := capacity - left; taken < granted || taken > granted+untold {
		r.Errorf("%d tokens were granted, and %d asked for by requests that were canceled: got %d taken, want %d to %d",
			granted, untold, taken, granted, granted+untold)
	}
	for i, s := range []store.Store{r.store, r.handle()} {
		key := r.key(fmt.Sprint("still works ", i))
		r.expect("all of a bucket that nobody has used", r.take(s, key, lasting(3, bucket.Fixed), 3, 3), 3, 0)
	}
}
