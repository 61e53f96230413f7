package otelthrottle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// doubtfulStore is a store that is not in memory, as far as limiters know, and that fails as the test says.
type doubtfulStore struct {
	store.Store
	fails func() error
}

// newDoubtfulStore returns a store that fails with err, or works if that is nil.
func newDoubtfulStore(err error) *doubtfulStore {
	return &doubtfulStore{Store: bucket.NewMemoryStore(), fails: func() error { return err }}
}

func (s *doubtfulStore) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	if err := s.fails(); err != nil {
		return bucket.Decision{}, err
	}
	return s.Store.Take(ctx, r)
}

// limiter returns a limiter that the adapter watches, beside the hooks in c. By default it is called geocoder and grants ten a minute.
func (l *lab) limiter(t testing.TB, c bucket.Config) *bucket.Limiter {
	t.Helper()
	if c.Name == "" {
		c.Name = "geocoder"
	}
	if c.Limit == (bucket.Limit{}) {
		c.Limit = bucket.Limit{Capacity: 10, Period: time.Minute, Algorithm: bucket.Continuous}
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = time.Minute // the test machine may stop for longer than the default
	}
	c.Hooks = bucket.JoinHooks(l.tel.BucketHooks(), c.Hooks)
	limiter, err := bucket.New(c)
	if err != nil {
		t.Fatalf("bucket.New: got error %v want nil", err)
	}
	return limiter
}

// take asks for n tokens, one after another, and returns how many of these requests were granted.
func take(ctx context.Context, t testing.TB, limiter *bucket.Limiter, n int) (granted int) {
	t.Helper()
	for range n {
		d, err := limiter.Decide(ctx, "")
		if err != nil && !errors.Is(err, bucket.ErrStore) {
			t.Fatalf("Decide: got error %v want nil", err)
		}
		if d.Allowed {
			granted++
		}
	}
	return granted
}
