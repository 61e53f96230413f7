package bucket

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// batcher combines requests for one token of a remote bucket. While a store call for a key is in
// flight, further requests for that key wait and share the next call.
type batcher struct {
	mu     sync.Mutex
	keys   map[string]*keyState // keys with a call in flight or a lease
	closed bool
}

// keyState is the state of one key.
type keyState struct {
	inFlight bool   // a store call is in flight
	next     *batch // requests that wait for the next call; nil if there are none
	lease    lease
}

// batch is a set of requests that share one store call. Each request has a slot: its index in
// order of arrival.
type batch struct {
	limit  *Limit
	size   int
	early  []int         // slots whose callers left before the call, sorted
	late   []int         // slots whose callers left during the call
	done   chan struct{} // closed at the end of the call; nil if there is only one request
	ended  bool          // as done, guarded by batcher.mu
	answer Decision
	err    error
}

// take takes one token.
func (b *batcher) take(ctx context.Context, l *Limiter, key string, limit *Limit) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: limit.Capacity}, err
	}
	t := b.join(key, limit)
	switch {
	case t.decided:
		return t.decision, nil
	case t.first:
		b.callFirst(ctx, l, key, t.state, t.batch)
	default:
		if err := b.wait(ctx, l, t); err == nil {
			break
		} else if ctx.Err() == nil {
			return l.applyPolicy(ctx, store.Request{Key: key, Limit: *limit, Min: 1, Max: 1}, 0, err)
		}
		return Decision{Limit: limit.Capacity}, ctx.Err()
	}
	return t.batch.decision(t.slot), t.batch.err
}

// wait waits for the answer to a batch. It returns an error if the caller leaves before: when ctx
// ends, or shortly before its deadline.
func (b *batcher) wait(ctx context.Context, l *Limiter, t ticket) (err error) {
	var late <-chan time.Time
	if patience := remote.Patience(ctx); patience < 2*l.config.StoreTimeout {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.batch.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = remote.ErrNoAnswer
	}
	if !b.leave(t.batch, t.slot) {
		return nil
	}
	return err
}

// ticket is a slot in a batch, or a decision that needs no store call.
type ticket struct {
	decided  bool
	decision Decision
	state    *keyState
	batch    *batch
	slot     int
	first    bool // no call is in flight: the caller makes the call for this batch of one
}

// join adds a request to the next batch of a key.
func (b *batcher) join(key string, limit *Limit) ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state(key)
	if d, ok := s.lease.decide(limit); ok {
		return ticket{decided: true, decision: d}
	}
	if !s.inFlight {
		s.inFlight = true
		return ticket{state: s, batch: &batch{limit: limit, size: 1}, first: true}
	}
	if s.next == nil {
		s.next = &batch{done: make(chan struct{})}
	}
	s.next.limit = limit
	s.next.size++
	return ticket{state: s, batch: s.next, slot: s.next.size - 1}
}

// state returns the state of a key. It creates a missing one.
func (b *batcher) state(key string) *keyState {
	if b.keys == nil {
		b.keys = map[string]*keyState{}
	}
	s := b.keys[key]
	if s == nil {
		s = &keyState{}
		b.keys[key] = s
	}
	return s
}

// leave gives up a slot. It returns false if the call has ended.
func (b *batcher) leave(current *batch, slot int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !current.ended {
		current.late = append(current.late, slot)
	}
	return !current.ended
}

// callFirst calls the store for a batch of one, on the goroutine and with the context of its
// caller. A new goroutine calls for the batches after it.
func (b *batcher) callFirst(ctx context.Context, l *Limiter, key string, s *keyState, first *batch) {
	defer func() { // also if a hook panics
		if next := b.end(l, key, s, first); next != nil {
			go b.callAll(l, key, s, next)
		}
	}()
	b.call(ctx, l, key, s, first)
}

// callAll calls the store for a batch, and then for the batches after it.
func (b *batcher) callAll(l *Limiter, key string, s *keyState, current *batch) {
	for current != nil {
		b.call(context.Background(), l, key, s, current)
		current = b.end(l, key, s, current)
	}
}

// call calls the store for a batch.
func (b *batcher) call(ctx context.Context, l *Limiter, key string, s *keyState, current *batch) {
	b.mu.Lock()
	n, ahead := current.start(), b.leaseRoom(l, s, current.limit)
	b.mu.Unlock()
	if n > 0 {
		r := storeRequest{store.Request{Key: key, Limit: *current.limit, Min: 1, Max: n + ahead}, int(n), ahead}
		current.answer, current.err = l.callStore(ctx, r)
	}
}

// start drops the slots whose callers have left, and returns the number of the others.
func (b *batch) start() int64 {
	b.early, b.late = b.late, nil
	slices.Sort(b.early)
	return int64(b.size - len(b.early))
}

// position returns the number of requests before a slot that the call was made for.
func (b *batch) position(slot int) int64 {
	before, _ := slices.BinarySearch(b.early, slot)
	return int64(slot - before)
}

// end wakes the callers of a batch, and returns the next batch. Tokens without a caller are put
// into the lease or given back.
func (b *batcher) end(l *Limiter, key string, s *keyState, current *batch) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	current.ended = true
	if current.done != nil {
		close(current.done)
	}
	if unused := b.extendLease(l, key, s, current.limit, current.unused(), current.answer.ResetAfter); unused > 0 {
		go l.giveBack(context.Background(), key, unused)
	}
	b.cacheDenial(l, key, s, current)
	next := s.next
	s.next, s.inFlight = nil, next != nil
	b.drop(key, s)
	return next
}

// drop deletes the state of a key that has no call in flight and no lease.
func (b *batcher) drop(key string, s *keyState) {
	if !s.inFlight && !s.lease.active && b.keys[key] == s {
		delete(b.keys, key)
	}
}

// unused returns the number of tokens that the store granted and that have no caller.
func (b *batch) unused() int64 {
	if b.err != nil || b.answer.Source != SourceStore {
		return 0
	}
	unused := max(0, b.answer.Granted-int64(b.size-len(b.early)))
	for _, slot := range b.late {
		if b.position(slot) < b.answer.Granted {
			unused++
		}
	}
	return unused
}

// decision returns the decision for one slot. Slots are served in order of arrival.
func (b *batch) decision(slot int) Decision {
	d := b.answer
	d.Allowed = b.position(slot) < b.answer.Granted
	d.Granted = 0
	if d.Allowed {
		d.Granted, d.RetryAfter = 1, 0
	}
	return d
}
