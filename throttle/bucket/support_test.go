package bucket_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

var errDown = errors.New("down")

// remote is a store that is not in memory, as far as a limiter knows, and that can be made to fail.
type remote struct {
	store.Store

	calls atomic.Int64
	mu    sync.Mutex
	gate  chan struct{} // if not nil, answers wait for it, or for their context
	err   error
}

func newRemote() *remote { return &remote{Store: bucket.NewMemoryStore()} }

// newFailing returns a remote store that fails.
func newFailing() *remote {
	r := newRemote()
	r.set(nil, errDown)
	return r
}

func (r *remote) set(gate chan struct{}, err error) {
	r.mu.Lock()
	r.gate, r.err = gate, err
	r.mu.Unlock()
}

func (r *remote) Take(ctx context.Context, q store.Request) (bucket.Decision, error) {
	r.calls.Add(1)
	r.mu.Lock()
	gate, err := r.gate, r.err
	r.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return bucket.Decision{}, ctx.Err()
		}
	}
	if err != nil {
		return bucket.Decision{}, err
	}
	return r.Store.Take(ctx, q)
}

func (r *remote) Reset(ctx context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return r.Store.Reset(ctx, key)
}

func limiter(t *testing.T, c bucket.Config) *bucket.Limiter {
	t.Helper()
	if c.Name == "" {
		c.Name = "test"
	}
	l, err := bucket.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
