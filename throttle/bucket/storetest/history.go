package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// ErrUndecided means that too many operations overlap to check a history in reasonable time.
var ErrUndecided = errors.New("storetest: too many operations overlap to check whether they are linearizable")

// History records operations on a store and their results. Create it with [NewHistory]. It is safe
// for concurrent use.
type History struct {
	mu         sync.Mutex
	begun      time.Time
	moments    atomic.Int64
	operations []operation
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{begun: time.Now()} }

// Of returns a store that calls s and records every operation. Closing it closes s.
func (h *History) Of(s store.Store) store.Store { return recordingStore{Store: s, history: h} }

// Len returns the number of recorded operations.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)
}

// Check returns an error if the recorded operations are not linearizable, or [ErrUndecided] if that
// takes too long to check. The operations on a bucket are linearizable if there is an order of them
// such that
//
//   - an operation that returned before another one was called comes first,
//   - each operation finds the level that the one before it left, and the first finds a full
//     bucket,
//   - and for each operation there is a time during the call at which [store.Level] gives its
//     result.
//
// These times need not be in order: a store may read its clock before it waits for a lock. The
// resolution is that of the store's clock.
//
// An operation that failed may have changed the bucket or not, so Check returns its error. All
// limits of a bucket must have the same algorithm.
func (h *History) Check(resolution time.Duration) error {
	h.mu.Lock()
	all := slices.Clone(h.operations)
	h.mu.Unlock()
	keys := map[string][]operation{}
	for _, o := range all {
		if o.err != nil {
			return fmt.Errorf("key %.40q: %v: %w", o.request.Key, o, o.err)
		}
		keys[o.request.Key] = append(keys[o.request.Key], o)
	}
	var undecided error
	for key, operations := range keys {
		slices.SortFunc(operations, func(a, b operation) int { return cmp.Compare(a.begun, b.begun) })
		switch err := explain(operations, int64(resolution)); {
		case errors.Is(err, ErrUndecided):
			undecided = err
		case err != nil:
			return fmt.Errorf("key %.40q: %w", key, err)
		}
	}
	return undecided
}

func (h *History) record(ctx context.Context, s store.Store, o operation) (bucket.Decision, error) {
	o.called, o.begun = int64(time.Since(h.begun)), h.moments.Add(1)
	o.decision, o.err = perform(ctx, s, o)
	o.ended, o.returned = h.moments.Add(1), int64(time.Since(h.begun))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
	return o.decision, o.err
}

type recordingStore struct {
	store.Store

	history *History
}

func (s recordingStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	return s.history.record(ctx, s.Store, operation{request: r})
}

func (s recordingStore) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	_, err := s.history.record(ctx, s.Store, operation{kind: giveBack, request: store.Request{Key: key, Limit: l, Max: n}})
	return err
}

func (s recordingStore) Reset(ctx context.Context, key string) error {
	_, err := s.history.record(ctx, s.Store, operation{kind: reset, request: store.Request{Key: key}})
	return err
}

func historyCases() []testCase {
	refills := bucket.Limit{Capacity: 12, Refill: 1, Period: 10 * time.Millisecond}
	periods := bucket.Limit{Capacity: 40, Period: 60 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	return []testCase{
		{"is linearizable", eachAlgorithm(func(r *fixture, a bucket.Algorithm) { r.runHistories(slowLimit(12, a)) })},
		{"is linearizable while tokens are added", func(r *fixture) { r.runHistories(refills) }},
		{"is linearizable across periods", func(r *fixture) { r.runHistories(periods) }},
	}
}

// runHistories makes random operations on buckets, and expects them to be linearizable. If too many
// overlap to check it, fewer workers try again.
func (r *fixture) runHistories(l bucket.Limit) {
	r.Helper()
	handles := r.Handles(3)
	for seed := range uint64(3) {
		err := ErrUndecided
		for workers := 6; errors.Is(err, ErrUndecided); workers /= 2 {
			err = r.runHistory(handles, l, workers, seed)
		}
		if err != nil {
			r.Errorf("concurrent workers: %v", err)
		}
	}
}

// runHistory lets workers make random operations on one new bucket, and checks them.
func (r *fixture) runHistory(handles []store.Store, l bucket.Limit, workers int, seed uint64) error {
	r.Helper()
	const each = 30
	h, key := NewHistory(), r.key(fmt.Sprint("history ", l.Algorithm, seed, workers))
	r.Together(workers, func(i int) error {
		random, s := rand.New(rand.NewPCG(seed, uint64(i))), h.Of(handles[i%len(handles)])
		for range each {
			if err := r.randomOperation(s, key, l, random); err != nil {
				return err
			}
		}
		return nil
	})
	return h.Check(time.Duration(r.resolution))
}

func (r *fixture) randomOperation(s store.Store, key string, l bucket.Limit, random *rand.Rand) error {
	o := operation{request: store.Request{Key: key, Limit: l}}
	switch n := random.IntN(16); {
	case n == 0:
		o.kind = reset
	case n <= 4:
		o.kind, o.request.Max = giveBack, 1+random.Int64N(2)
	case n <= 5: // a peek
	default:
		o.request.Min = random.Int64N(3)
		o.request.Max = o.request.Min + random.Int64N(3)
	}
	if o = r.do(r.Context(), s, o); o.err != nil {
		return fmt.Errorf("%v: got error %w, want none", o, o.err)
	}
	return nil
}
