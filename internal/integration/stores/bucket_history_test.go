package stores_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/bucket/storetest"
)

// historyOf runs random operations on the handles from 8 goroutines, and returns the result of the
// checker.
func historyOf(t *testing.T, handles []store.Store, key string, l bucket.Limit, step time.Duration, seed uint64) error {
	t.Helper()
	h := storetest.NewHistory()
	var all sync.WaitGroup
	for i := range 8 {
		s, random := h.Of(handles[i%len(handles)]), rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for range 40 {
				atLeast, err := random.Int64N(3), error(nil)
				switch random.IntN(12) {
				case 0, 1:
					err = s.Return(t.Context(), key, l, 1+random.Int64N(2))
				case 2:
					_, err = s.Take(t.Context(), store.Request{Key: key, Limit: l})
				default:
					_, err = s.Take(t.Context(), store.Request{Key: key, Limit: l, Min: atLeast, Max: atLeast + random.Int64N(3)})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return h.Check(step)
}

// wantOrdered checks that concurrent operations have an order that explains their results.
func wantOrdered(t *testing.T, handles []store.Store, step time.Duration) {
	t.Helper()
	decided, histories := 0, short(2, 4)
	for seed := range uint64(histories) {
		l := bucket.Limit{Capacity: 80, Refill: 1, Period: 20 * time.Millisecond}
		if seed%2 == 1 {
			l = bucket.Limit{Capacity: 80, Period: time.Hour, Algorithm: bucket.Fixed}.WithDefaults()
		}
		switch err := historyOf(t, handles, fmt.Sprint(t.Name(), seed), l, step, seed); {
		case err == nil:
			decided++
		case !errors.Is(err, storetest.ErrUndecided):
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if decided == 0 {
		t.Error("no history was decided")
	}
	t.Logf("%d of %d histories of 320 operations were decided", decided, histories)
}

func (e *engine) bucketHistories(t *testing.T) {
	dsn, name := e.dsn(t), fmt.Sprint("histories ", e.last.Add(1))
	var handles []store.Store
	for range 4 {
		handles = append(handles, e.buckets(t, dsn, name, "histories_"))
	}
	wantOrdered(t, handles, e.step())
}
