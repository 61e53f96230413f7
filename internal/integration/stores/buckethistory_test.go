package stores_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/storetest"
)

// stale is a store that answers a peek with what it has told the one before.
type stale struct {
	bucket.Store

	mu   sync.Mutex
	last bucket.Decision
}

func (s *stale) Take(ctx context.Context, r bucket.Request) (bucket.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.Store.Take(ctx, r)
	if r.Max == 0 && s.last != (bucket.Decision{}) { // whose first answer is right
		s.last, d = d, s.last
	} else if r.Max == 0 {
		s.last = d
	}
	return d, err
}

// historyOf lets 8 ask as they like, each by one of the handles, and returns what the checker says.
func historyOf(t *testing.T, handles []bucket.Store, key string, l bucket.Limit, step time.Duration, seed uint64) error {
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
					_, err = s.Take(t.Context(), bucket.Request{Key: key, Limit: l})
				default:
					_, err = s.Take(t.Context(), bucket.Request{Key: key, Limit: l, Min: atLeast, Max: atLeast + random.Int64N(3)})
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

// putsInOrder wants histories of a real store to be explained, and those of one that is not to be found out.
func putsInOrder(t *testing.T, handles []bucket.Store, step time.Duration) {
	const histories = 4
	broken := make([]bucket.Store, len(handles))
	for i, s := range handles {
		broken[i] = &stale{Store: s}
	}
	decided, found := 0, 0
	for seed := range uint64(histories) {
		l := bucket.Limit{Capacity: 80, Refill: 1, Period: 20 * time.Millisecond}
		if seed%2 == 1 {
			l = bucket.Limit{Capacity: 80, Period: time.Hour, Algorithm: bucket.Fixed}.WithDefaults()
		}
		switch err := historyOf(t, handles, fmt.Sprint("good ", t.Name(), seed), l, step, seed); {
		case err == nil:
			decided++
		case !errors.Is(err, storetest.ErrUndecided):
			t.Errorf("seed %d: %v", seed, err)
		}
		if err := historyOf(t, broken, fmt.Sprint("stale ", t.Name(), seed), l, step, seed); err != nil && !errors.Is(err, storetest.ErrUndecided) {
			found++
		}
		for _, s := range broken { // its next bucket is another
			s.(*stale).last = bucket.Decision{}
		}
	}
	t.Logf("%d of %d histories of 320 operations explained, %d of as many of a stale store found", decided, histories, found)
	if found == 0 {
		t.Error("a store that answers peeks from what was before: got none of its histories found out")
	}
}

func TestRedisBucketHistories(t *testing.T) {
	server := program.Redis(t)
	var handles []bucket.Store
	for range 4 {
		handles = append(handles, redisBucket(t, redisClient(t, server), "histories"))
	}
	putsInOrder(t, handles, time.Microsecond)
}

func (e *engine) bucketHistories(t *testing.T) {
	dsn, name := e.dsn(t), fmt.Sprint("histories ", e.last.Add(1))
	var handles []bucket.Store
	for range 4 {
		handles = append(handles, e.buckets(t, dsn, name, "histories_"))
	}
	putsInOrder(t, handles, e.step())
}
