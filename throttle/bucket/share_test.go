package bucket_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestLocalShare_Spends checks that the share loses the tokens that the store granted.
func TestLocalShare_Spends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRemote()
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}})
		granted := 0
		for i := range 20 {
			if i == 7 {
				s.set(nil, errDown)
			}
			if l.Allow(t.Context(), "k") {
				granted++
			}
		}
		equals(t, granted, 10, "granted by the store and by the share")
	})
}

// TestLocalShare_OthersSpend checks that no more of the share is left than of the bucket that others have used. FailOpen
// has the whole limit if the answer is late, and no limit if the store fails, or has not answered for long.
func TestLocalShare_OthersSpend(t *testing.T) {
	for name, c := range map[string]struct {
		policy    bucket.FailurePolicy
		algorithm bucket.Algorithm
		used      int64 // by another process, of 12
		err       error
		granted   int64 // of nine requests
	}{
		"all":        {bucket.LocalShare, bucket.Continuous, 11, errDown, 0},
		"half":       {bucket.LocalShare, bucket.Continuous, 5, errDown, 2},
		"own":        {bucket.LocalShare, bucket.Continuous, 0, errDown, 3},
		"all, fixed": {bucket.LocalShare, bucket.Fixed, 11, errDown, 0},
		"all, open":  {bucket.FailOpen, bucket.Continuous, 11, context.DeadlineExceeded, 0},
		"half, open": {bucket.FailOpen, bucket.Continuous, 5, context.DeadlineExceeded, 6},
		"not sent":   {bucket.FailOpen, bucket.Continuous, 5, store.ErrNotSent, 6},
		"down, open": {bucket.FailOpen, bucket.Continuous, 11, errDown, 9},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newRemote()
			config := bucket.Config{Store: s, OnFailure: c.policy, Replicas: 3, Limit: bucket.Limit{
				Capacity: 12, Refill: 12, Period: 12 * time.Hour, Algorithm: c.algorithm,
			}}
			time.Sleep(time.Minute) // a Fixed bucket is in the middle of its period
			_, _ = limiter(t, config).DecideN(t.Context(), "k", c.used)
			l := limiter(t, config)
			must(t, l.Take(t.Context(), "k", 1))
			s.set(nil, c.err)
			granted := int64(0)
			ask := func(n int) {
				for range n {
					d, err := l.Decide(t.Context(), "k")
					must(t, err)
					granted += d.Granted
				}
			}
			ask(9)
			equals(t, granted, c.granted, "granted after the last answer")
			if time.Sleep(time.Second); c.policy == bucket.FailOpen {
				ask(9)
				equals(t, granted, c.granted+9, "granted in all, nine of them a second after the last answer")
			}
		})
	}
}

// TestLocalShare_LateAnswers checks that the share gets no tokens from answers that come too late.
func TestLocalShare_LateAnswers(t *testing.T) {
	for name, n := range map[string]int64{"of one token": 1, "of two": 2} {
		synctest.Test(t, func(t *testing.T) {
			memory := newRemote()
			s := faked{memory, func(_ context.Context, r store.Request) (bucket.Decision, error) {
				time.Sleep(time.Second) // after the caller has gone
				return memory.Take(context.Background(), r)
			}}
			l := limiter(t, bucket.Config{Store: s, Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}})
			granted := int64(0)
			for range 20 {
				if d, err := l.DecideN(t.Context(), "k", n); err != nil {
					t.Fatal(err)
				} else {
					granted += d.Granted
				}
				time.Sleep(2 * time.Second)
			}
			equals(t, granted, 10, "%s: granted by the share", name)
		})
	}
}

// TestLocalShare_AnswersOutOfOrder wants a process that is alone to have the whole limit.
func TestLocalShare_AnswersOutOfOrder(t *testing.T) {
	for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
		synctest.Test(t, func(t *testing.T) {
			s := newRemote()
			outOfOrder := faked{s, func(ctx context.Context, r store.Request) (bucket.Decision, error) {
				d, err := s.Take(ctx, r)
				time.Sleep(rand.N(10 * time.Millisecond)) // answers come in another order than the store decides
				return d, err
			}}
			l := limiter(t, bucket.Config{
				Store: outOfOrder, OneByOne: true, Limit: bucket.Limit{Capacity: 1000, Refill: 1000, Period: time.Second, Algorithm: a},
			})
			end := time.Now().Add(5500 * time.Millisecond)
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() {
					for time.Now().Before(end) {
						if !l.Allow(t.Context(), "k") {
							time.Sleep(20 * time.Millisecond)
						}
					}
				})
			}
			all.Wait()
			s.set(nil, errDown)
			if d, err := l.Peek(t.Context(), "k"); err != nil || d.Limit != 1000 {
				t.Errorf("%v: got a share of %d, %v want 1000", a, d.Limit, err)
			}
		})
	}
}

// TestLocalShare_LongPeriod checks that the period of a share does not overflow, and that the share comes back at its
// part of the rate.
func TestLocalShare_LongPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		for _, c := range []struct {
			limit    bucket.Limit
			replicas int
		}{{bucket.Per(1000, 366*day), 300}, {bucket.Per(1e6, 30*day), 5000}, {bucket.Per(1e6, day), 200_000}} {
			l := limiter(t, bucket.Config{Store: newFailing(), Limit: c.limit, Replicas: c.replicas})
			share, granted := c.limit.Capacity/int64(c.replicas), int64(0)
			for range 3 * share {
				d, err := l.Decide(t.Context(), "k")
				if err != nil || d.RetryAfter < 0 || d.ResetAfter < 0 {
					t.Errorf("%+v, %v", d, err)
					break
				}
				granted += d.Granted
			}
			equals(t, granted, share, "%+v of %d: granted", c.limit, c.replicas)
			time.Sleep(c.limit.Period / 3)
			if d, _ := l.Peek(t.Context(), "k"); d.Remaining > share/3+1 {
				t.Errorf("%+v of %d: %d came back in a third of the period, want a third of %d", c.limit, c.replicas, d.Remaining, share)
			}
		}
	})
}

// TestLocalShare_HighRate wants the share of a limit of bytes to come back at its part of the rate.
func TestLocalShare_HighRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit    bucket.Limit
			replicas int
		}{{bucket.PerSecond(100e6), 4}, {bucket.PerSecond(1e9), 5}, {bucket.PerSecond(2e6), 2}, {bucket.PerSecond(2e6), 4}} {
			l := limiter(t, bucket.Config{Store: newFailing(), Limit: c.limit, Replicas: c.replicas})
			share := c.limit.Capacity / int64(c.replicas)
			must(t, l.Take(t.Context(), "k", share))
			time.Sleep(500 * time.Millisecond)
			d, err := l.Peek(t.Context(), "k")
			must(t, err)
			equals(t, d.Remaining, share/2, "%v of %d: came back in half a second", c.limit, c.replicas)
		}
	})
}

// TestLocalShare_LargestLimit: a limit that stands for "no limit".
func TestLocalShare_LargestLimit(t *testing.T) {
	l := limiter(t, bucket.Config{
		Store: newFailing(), Limit: bucket.Limit{Capacity: math.MaxInt64, Period: time.Hour, Algorithm: bucket.Fixed},
	})
	must(t, l.Take(t.Context(), "k", 100))
}

// TestLocalShare_EstimatesProcesses runs processes that share buckets evenly, or have buckets of
// their own. Then the store fails, and together they must not get much more than the limit.
func TestLocalShare_EstimatesProcesses(t *testing.T) {
	for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
		for name, apart := range map[string]bool{"shared": false, "apart": true} {
			for _, n := range []int{1, 2, 5} {
				bubble(t, a.String()+" "+name+" "+strconv.Itoa(n), func(t *testing.T) {
					s := newRemote()
					var all []*bucket.Limiter
					for range n {
						all = append(all, limiter(t, bucket.Config{Store: s, Limit: bucket.Limit{Capacity: 100, Refill: 100, Period: time.Second, Algorithm: a}}))
					}
					ask := func() (granted int) {
						for range 100 {
							for i, l := range all {
								key := "k"
								if apart {
									key = strconv.Itoa(i)
								}
								if l.Allow(t.Context(), key) {
									granted++
								}
							}
							time.Sleep(5 * time.Millisecond)
						}
						return granted
					}
					for range 10 {
						ask()
					}
					s.set(nil, errDown)
					got, want := 0, 500
					for range 10 {
						got += ask()
					}
					if apart {
						want = 500 * n
					}
					if got < want*3/4 || got > want*5/4 {
						t.Errorf("%d granted in 5 s without a store, want about %d", got, want)
					}
				})
			}
		}
	}
}
