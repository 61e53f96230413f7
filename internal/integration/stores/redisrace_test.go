package stores_test

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRedisLosesNoUpdate counts up a record from several clients at once: every write that was acknowledged must be in it.
func TestRedisLosesNoUpdate(t *testing.T) {
	const writers, each = 8, 300
	server, _, store := newRedis(t)
	writeRedis(t, store, 4, "0")
	var written, conflicts atomic.Int64
	var all sync.WaitGroup
	for range writers {
		handle := redisStore(t, redisClient(t, server), "b")
		all.Go(func() {
			for n := 0; n < each; {
				switch err := countUpRedis(t, handle); {
				case err == nil:
					n++
					written.Add(1)
				case errors.Is(err, breaker.ErrConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	wantRedisRecord(t, store, 4, strconv.FormatInt(written.Load(), 10))
	if got := readRedis(t, store, 4).Version.Number; written.Load() != writers*each || got != writers*each+1 {
		t.Errorf("got %d writes and number %d want %d and one more", written.Load(), got, writers*each)
	}
	if conflicts.Load() == 0 {
		t.Error("got no conflict: nothing was raced for")
	}
}

func countUpRedis(t *testing.T, s breaker.Store) error {
	loaded, err := s.Load(t.Context(), []int{4})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(loaded[0].Records[0].Data))
	if err != nil {
		return err
	}
	_, err = s.Apply(t.Context(), breaker.Batch{
		Shard: 4, Term: 1, Expect: loaded[0].Version, Changes: []breaker.Change{{ID: redisRecord(4), Data: strconv.AppendInt(nil, int64(n+1), 10)}},
	})
	return err
}
