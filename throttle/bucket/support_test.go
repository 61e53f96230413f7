package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// gated returns a remote store that answers once the gate is closed.
func gated() (r *remote, gate chan struct{}) {
	r, gate = newRemote(), make(chan struct{})
	r.set(gate, nil)
	return r, gate
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

func (r *remote) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *remote) Return(ctx context.Context, key string, l bucket.Limit, n int64) error {
	if err := r.failure(); err != nil {
		return err
	}
	return r.Store.Return(ctx, key, l, n)
}

func (r *remote) Reset(ctx context.Context, key string) error {
	if err := r.failure(); err != nil {
		return err
	}
	return r.Store.Reset(ctx, key)
}

// faked is a remote store whose Take is a func.
type faked struct {
	store.Store
	take func(context.Context, store.Request) (bucket.Decision, error)
}

func (f faked) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	return f.take(ctx, r)
}

// slow returns a store that heeds no context, and answers when the gate opens.
func slow(s store.Store, gate chan struct{}) store.Store {
	return faked{s, func(_ context.Context, r store.Request) (bucket.Decision, error) {
		<-gate
		return s.Take(context.Background(), r)
	}}
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants checks an error; nil wants none.
func wants(t *testing.T, got, want error, when string, args ...any) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", fmt.Sprintf(when, args...), got, want)
	}
}

// equals checks a value.
func equals[T comparable](t testing.TB, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// decided wants one token of the key "k" to be granted or denied, by a source.
func decided(t *testing.T, l *bucket.Limiter, allowed bool, by bucket.Source, when string, args ...any) {
	t.Helper()
	if d, err := l.Decide(t.Context(), "k"); err != nil || d.Allowed != allowed || d.Source != by {
		t.Errorf("%s: got %+v, error %v, want granted %v by %v", fmt.Sprintf(when, args...), d, err, allowed, by)
	}
}

// bubble runs a subtest in a bubble of synctest.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func limiter(t *testing.T, c bucket.Config) *bucket.Limiter {
	t.Helper()
	if c.Name == "" {
		c.Name = "test"
	}
	l, err := bucket.New(c)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}
