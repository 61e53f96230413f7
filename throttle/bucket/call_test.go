package bucket_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// many is a remote store that takes many requests in one call.
type many struct {
	*remote

	change func(rs []store.Request, answers []store.Answer) // if not nil
}

func (m many) TakeMany(ctx context.Context, rs []store.Request) []store.Answer {
	answers := make([]store.Answer, len(rs))
	first, err := m.Take(ctx, rs[0]) // it waits for the gate, and counts one call
	answers[0] = store.Answer{Decision: first, Err: err}
	for i := range rs[1:] {
		if answers[i+1].Err = err; err == nil {
			answers[i+1].Decision, answers[i+1].Err = m.Store.Take(ctx, rs[i+1])
		}
	}
	if m.change != nil {
		m.change(rs, answers)
	}
	return answers
}

// TestCall_CarriesManyKeys checks that questions about several keys share store calls, and that
// each caller gets the answer about its key.
func TestCall_CarriesManyKeys(t *testing.T) {
	// One call for each of the first two questions, if MaxCalls allows two, and one for the others.
	for maxCalls, want := range map[int]int64{0: 3, 1: 2} {
		synctest.Test(t, func(t *testing.T) {
			r, gate := gated()
			l := limiter(t, bucket.Config{Store: many{remote: r}, MaxCalls: maxCalls, Limit: bucket.Limit{Capacity: 100, Refill: 1, Period: time.Hour}})
			var all sync.WaitGroup
			for i := range 60 {
				all.Go(func() {
					d, err := l.DecideN(t.Context(), strconv.Itoa(i), int64(i+1))
					if err != nil || d.Source != bucket.SourceStore || d.Remaining != int64(99-i) {
						t.Errorf("MaxCalls %d, key %d: %+v, %v, want %d left in the store", maxCalls, i, d, err, 99-i)
					}
				})
				synctest.Wait()
			}
			time.Sleep(10 * time.Millisecond)
			close(gate)
			all.Wait()
			equals(t, r.calls.Load(), want, "MaxCalls %d: calls", maxCalls)
		})
	}
}

// TestCall_MaxWaiting checks that the questions above the bound are decided at once, and that no
// caller of a store without answers waits longer than two timeouts: for its turn, and for its call.
func TestCall_MaxWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := gated()
		l := limiter(t, bucket.Config{Store: many{remote: r}, Limit: bucket.PerSecond(1), MaxCalls: 2})
		var all sync.WaitGroup
		var atOnce atomic.Int64
		for i := range 9000 {
			all.Go(func() {
				begun := time.Now()
				if d, err := l.Decide(t.Context(), strconv.Itoa(i)); err != nil || d.Source != bucket.SourcePolicy {
					t.Errorf("%+v, %v, want the policy", d, err)
				}
				switch waited := time.Since(begun); {
				case waited == 0:
					atOnce.Add(1)
				case waited > 100*time.Millisecond:
					t.Errorf("waited %v", waited)
				}
			})
		}
		all.Wait()
		equals(t, atOnce.Load(), 9000-8192-2, "decided at once")
		time.Sleep(time.Second)
	})
}

// TestCall_WaitsForItsTurn checks that a batch that has waited for its call has the
// whole timeout from then on.
func TestCall_WaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, gate := gated()
		l := limiter(t, bucket.Config{Store: many{remote: r}, Limit: bucket.PerSecond(5), MaxCalls: 2, OnFailure: bucket.FailClosed})
		var all sync.WaitGroup
		decide := func(key string, want time.Duration) {
			all.Go(func() {
				begun := time.Now()
				if d, err := l.Decide(t.Context(), key); err != nil || d.Source != bucket.SourceStore || time.Since(begun) != want {
					t.Errorf("%s: %+v, %v after %v, want the store after %v", key, d, err, time.Since(begun), want)
				}
			})
			synctest.Wait()
		}
		decide("first", 20*time.Millisecond)
		decide("second", 20*time.Millisecond)
		decide("third", 65*time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		next := make(chan struct{})
		r.set(next, nil)
		close(gate)
		time.Sleep(45 * time.Millisecond)
		close(next)
		all.Wait()
	})
}

// TestCall_SomeAnswers checks that an error or an invalid decision concerns one key only.
func TestCall_SomeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, gate := gated()
		s := many{r, func(rs []store.Request, answers []store.Answer) {
			for i, r := range rs {
				switch r.Key {
				case "error":
					answers[i] = store.Answer{Err: errDown}
				case "invalid":
					answers[i] = store.Answer{Decision: bucket.Decision{Granted: 7}}
				}
			}
		}}
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(5), OnFailure: bucket.FailClosed})
		for _, key := range []string{"a", "b"} {
			go func() { _, _ = l.Decide(t.Context(), key) }()
		}
		synctest.Wait()
		var all sync.WaitGroup
		for key, want := range map[string]error{"error": bucket.ErrStore, "invalid": bucket.ErrStore, "good": nil} {
			all.Go(func() {
				wants(t, l.Take(t.Context(), key, 1), want, "%s", key)
			})
		}
		time.Sleep(10 * time.Millisecond)
		close(gate)
		all.Wait()
	})
}

// TestCall_WaitsWhileTheStoreAnswers checks that callers wait for their turn, however long the line is,
// as long as the store answers. A store without answers makes them wait for two timeouts at most.
func TestCall_WaitsWhileTheStoreAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		stops       time.Duration // no call is answered later
		least, most int64         // decisions of the policy; how many callers are served at once depends on the scheduler
	}{"answers": {time.Hour, 0, 0}, "stops": {300 * time.Millisecond, 100, 2000 - 128*3}} {
		bubble(t, name, func(t *testing.T) {
			until := time.Now().Add(c.stops)
			s := waitingMany{many{remote: newRemote()}, func(ctx context.Context) {
				if time.Sleep(40 * time.Millisecond); time.Now().After(until) {
					<-ctx.Done()
				}
			}}
			l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(5), MaxCalls: 1})
			var all sync.WaitGroup
			var byPolicy atomic.Int64
			for i := range 2000 {
				all.Go(func() {
					if d, err := l.Decide(t.Context(), strconv.Itoa(i)); err != nil || d.Source == bucket.SourcePolicy {
						byPolicy.Add(1)
					}
					if waited := time.Since(until); waited > 100*time.Millisecond {
						t.Errorf("waited for %v after the last answer", waited)
					}
				})
			}
			all.Wait()
			if n := byPolicy.Load(); n < c.least || n > c.most {
				t.Errorf("the policy decided %d, want %d to %d", n, c.least, c.most)
			}
			time.Sleep(time.Second)
		})
	}
}

// waitingMany waits before it answers.
type waitingMany struct {
	many

	wait func(context.Context)
}

func (s waitingMany) Take(ctx context.Context, r store.Request) (bucket.Decision, error) {
	s.wait(ctx)
	return s.many.Take(ctx, r)
}

func (s waitingMany) TakeMany(ctx context.Context, rs []store.Request) []store.Answer {
	s.wait(ctx)
	return s.many.TakeMany(ctx, rs)
}

// TestCall_FewWhileTheyAreSlow checks that a store has many calls at the same time if they do not wait for each other. If
// they begin to wait, they become so few that the store answers in time.
func TestCall_FewWhileTheyAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var each time.Duration // that a call needs for each of the calls at the same time, beside 3 ms
		var inFlight, most atomic.Int64
		s := waitingMany{many{remote: newRemote()}, func(ctx context.Context) {
			n := inFlight.Add(1)
			defer inFlight.Add(-1)
			most.Store(max(most.Load(), n))
			select {
			case <-time.After(3*time.Millisecond + time.Duration(n)*each):
			case <-ctx.Done():
			}
		}}
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(1e6), MaxCalls: 8})
		var byStore, byPolicy atomic.Int64
		run := func() {
			byStore.Store(0)
			byPolicy.Store(0)
			var all sync.WaitGroup
			for i := range 600 {
				all.Go(func() {
					for begun := time.Now(); time.Since(begun) < time.Second/2; {
						if d, err := l.Decide(t.Context(), strconv.Itoa(i)); err != nil || d.Source == bucket.SourcePolicy {
							byPolicy.Add(1)
							time.Sleep(time.Millisecond)
						} else {
							byStore.Add(1)
						}
					}
				})
			}
			all.Wait()
		}
		run()
		equals(t, most.Load(), 8, "calls at the same time, of a store without waits")
		each = 10 * time.Millisecond
		run()
		most.Store(0)
		run()
		if n, policy := byStore.Load(), byPolicy.Load(); policy*100 > n || most.Load() > 5 {
			t.Errorf("the policy decided %d, and the store %d, with up to %d calls at the same time", policy, n, most.Load())
		}
		time.Sleep(time.Second)
	})
}

// TestCall_NotSent checks that a call which found no connection is made again, once.
func TestCall_NotSent(t *testing.T) {
	for failures, want := range map[int64]error{1: nil, 2: bucket.ErrStore} {
		synctest.Test(t, func(t *testing.T) {
			r, gate := gated()
			var calls atomic.Int64
			s := many{r, func(rs []store.Request, answers []store.Answer) {
				if calls.Add(1) <= failures {
					copy(answers, slices.Repeat([]store.Answer{{Err: store.ErrNotSent}}, len(rs)))
				}
			}}
			l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(5), MaxCalls: 1, OnFailure: bucket.FailClosed})
			var all sync.WaitGroup
			all.Go(func() { _, _ = l.Decide(t.Context(), "first") })
			synctest.Wait()
			for i := range 3 {
				all.Go(func() {
					wants(t, l.Take(t.Context(), strconv.Itoa(i), 1), want, "%d calls without a connection", failures)
				})
			}
			synctest.Wait()
			close(gate)
			all.Wait()
		})
	}
}

// TestCall_Goexit: a hook, a store or LimitFor that ends its goroutine leaves no other caller waiting.
func TestCall_Goexit(t *testing.T) {
	bubble(t, "hook, store of many", func(t *testing.T) {
		r, gate := gated()
		calls := atomic.Int64{}
		l := limiter(t, bucket.Config{Store: many{remote: r}, Limit: bucket.PerSecond(100), Hooks: bucket.Hooks{
			StoreCalled: func(context.Context, bucket.StoreEvent) {
				if calls.Add(1) == 3 { // the first call for the line
					runtime.Goexit()
				}
			},
		}})
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if d, err := l.DecideN(t.Context(), strconv.Itoa(i), 2); err != nil || !d.Allowed {
					t.Errorf("key %d: %+v, %v", i, d, err)
				}
			})
			synctest.Wait()
		}
		close(gate)
		all.Wait()
	})
	bubble(t, "LimitFor of a queue", func(t *testing.T) {
		calls := atomic.Int64{}
		l := limiter(t, bucket.Config{Limit: bucket.PerSecond(1), LimitFor: func(string) bucket.Limit {
			if calls.Add(1) == 4 { // for the queue
				runtime.Goexit()
			}
			return bucket.PerSecond(1)
		}})
		must(t, l.Take(t.Context(), "k", 1))
		var got []error
		for range 2 {
			got = append(got, l.Wait(t.Context(), "k", 1))
		}
		if !errors.Is(got[0], bucket.ErrStore) || got[1] != nil {
			t.Errorf("got %v want one failure", got)
		}
	})
}

// unbounded is a store whose MaxCalls panics.
type unbounded struct{ many }

func (unbounded) MaxCalls() int { panic("no bound") }

// TestCall_MaxCallsPanics checks that no lock is held during MaxCalls: the next request is decided.
func TestCall_MaxCallsPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Store: unbounded{many{remote: newRemote()}}, Limit: bucket.PerSecond(5)})
		for range 2 {
			func() {
				defer func() { _ = recover() }()
				if d, err := l.Decide(t.Context(), "k"); err != nil || d.Source != bucket.SourceStore {
					t.Errorf("got %+v, %v want an answer of the store", d, err)
				}
			}()
		}
	})
}
