package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func TestPolicy(t *testing.T) {
	for _, hang := range []bool{false, true} {
		tests := []struct {
			policy  bucket.FailurePolicy
			granted int // of ten
			err     error
		}{{bucket.FailurePolicy(0), 2, nil}, {bucket.FailOpen, 10, nil}, {bucket.FailClosed, 0, bucket.ErrStore}, {bucket.LocalShare, 2, nil}}
		for _, tt := range tests {
			bubble(t, fmt.Sprint(tt.policy, hang), func(t *testing.T) {
				store := newRemote()
				if store.set(nil, errDown); hang {
					store.set(make(chan struct{}), nil)
				}
				denied := 0
				hooks := bucket.Hooks{Denied: func(_ context.Context, e bucket.DenialEvent) {
					if e.Source == bucket.SourcePolicy {
						denied++
					}
				}}
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 6, Refill: 1, Period: time.Hour}, OnFailure: tt.policy, Replicas: 3, Hooks: hooks})
				granted := 0
				for range 10 {
					begun := time.Now()
					d, err := l.Decide(t.Context(), "k")
					if !errors.Is(err, tt.err) || d.Source != bucket.SourcePolicy {
						t.Fatalf("got %+v, %v, want error %v", d, err, tt.err)
					}
					if d.Allowed {
						granted++
					}
					if took := time.Since(begun); took > 50*time.Millisecond {
						t.Errorf("it took %v", took)
					}
				}
				equals(t, granted, tt.granted, "granted")
				s := l.Stats()
				if s.FailedOpen != uint64(granted) || s.FailedClosed != uint64(10-granted) || denied != 10-granted || s.Granted+s.Denied != 0 {
					t.Errorf("%d denials of the policy, stats %+v", denied, s)
				}
			})
		}
	}
}

// TestStore_PausesAfterFailures checks that the policy decides at once during a pause, and that
// the store is called after it.
func TestStore_PausesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := gated() // frozen
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Hour), OnFailure: bucket.FailClosed})
		begun := time.Now()
		for range 20 {
			wants(t, l.Take(t.Context(), "k", 1), bucket.ErrStore, "while it is frozen")
		}
		if waited := time.Since(begun); waited != 500*time.Millisecond || store.calls.Load() != 10 {
			t.Errorf("waited %v, %d calls, want ten times the timeout", waited, store.calls.Load())
		}
		store.set(nil, nil)
		time.Sleep(250 * time.Millisecond)
		decided(t, l, true, bucket.SourceStore, "once it has thawed")
	})
}

// TestStore_FirstPauseIsTheShortest checks that failures of concurrent calls do not extend the
// first pause.
func TestStore_FirstPauseIsTheShortest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := gated()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), OneByOne: true})
		for range 64 {
			go func() { _, _ = l.Decide(t.Context(), "k") }()
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		store.set(nil, nil)
		time.Sleep(250 * time.Millisecond)
		decided(t, l, true, bucket.SourceStore, "250 ms after it has failed")
	})
}

// TestStore_HangsOrPanics checks that the policy decides in time, also for a store that is called on the
// goroutine of the caller.
func TestStore_HangsOrPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, frozen, broken := make(chan struct{}), newRemote(), newRemote()
		defer close(gate)
		frozen.set(make(chan struct{}), nil)
		broken.Store = nil // a nil dereference
		for name, store := range map[string]store.Store{
			"deaf": slow(newRemote(), gate), "panics": broken, "cancelable": cancelable{frozen}, "cancelable, panics": cancelable{broken},
		} {
			for _, oneByOne := range []bool{false, true} {
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1), OneByOne: oneByOne})
				begun := time.Now()
				d, err := l.Decide(t.Context(), "k")
				if err != nil || !d.Allowed || d.Source != bucket.SourcePolicy || time.Since(begun) > 50*time.Millisecond {
					t.Errorf("%s, one by one %t: %+v, %v after %v", name, oneByOne, d, err, time.Since(begun))
				}
			}
		}
	})
}

// TestStore_LateTokensAreGivenBack checks tokens that are granted after the timeout, with and
// without batches.
func TestStore_LateTokensAreGivenBack(t *testing.T) {
	for _, oneByOne := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory, gate := bucket.NewMemoryStore(), make(chan struct{})
			limit := bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}
			l := limiter(t, bucket.Config{Store: slow(memory, gate), Limit: limit, OneByOne: oneByOne, OnFailure: bucket.FailClosed})
			wants(t, l.Take(t.Context(), "k", 1), bucket.ErrStore, "an answer that is late")
			close(gate)
			synctest.Wait()
			if d, err := memory.Take(t.Context(), store.Request{Key: "k", Limit: limit.WithDefaults()}); err != nil || d.Remaining != 10 {
				t.Errorf("%+v, %v, want a full bucket", d, err)
			}
		})
	}
}

// cancelable is a store that returns as soon as its context ends.
type cancelable struct{ *remote }

func (cancelable) Cancelable() bool { return true }

// TestStore_InvalidDecision checks that the policy decides, and that an invalid decision counts as
// a failure.
func TestStore_InvalidDecision(t *testing.T) {
	for name, answer := range map[string]bucket.Decision{
		"nothing at all":                     {},
		"denied, and not for how long":       {Limit: 5},
		"denied, until before now":           {RetryAfter: -time.Second},
		"denied, and granted":                {Granted: 2, RetryAfter: time.Second},
		"granted nothing":                    {Allowed: true, RetryAfter: time.Second},
		"granted less than nothing":          {Allowed: true, Granted: -1},
		"granted less than nothing, and not": {Granted: -1, RetryAfter: time.Second},
		"granted less than wanted":           {Allowed: true, Granted: 1, RetryAfter: time.Second},
		"granted more than wanted":           {Allowed: true, Granted: 3},
	} {
		bubble(t, name, func(t *testing.T) {
			var calls atomic.Int64
			store := faked{nil, func(ctx context.Context, r store.Request) (bucket.Decision, error) {
				if calls.Add(1) > 1000 { // a caller without a pause would retry without end
					return bucket.Decision{}, errDown
				}
				return answer, nil
			}}
			closed := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5), OnFailure: bucket.FailClosed})
			open := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5), OnFailure: bucket.FailOpen})
			for range 10 {
				wants(t, closed.Wait(t.Context(), "k", 2), bucket.ErrStore, "FailClosed, Wait")
				wants(t, closed.Take(t.Context(), "k", 2), bucket.ErrStore, "FailClosed, Take")
				if d, err := open.DecideN(t.Context(), "k", 2); err != nil || d.Granted != 2 || d.Source != bucket.SourcePolicy {
					t.Fatalf("FailOpen: got %+v, %v want both from the policy", d, err)
				}
				wants(t, open.Wait(t.Context(), "k", 2), nil, "FailOpen, Wait")
			}
			equals(t, calls.Load(), 20, "questions")
		})
	}
}

// TestReturn checks the numbers of tokens, and contexts that have ended.
func TestReturn(t *testing.T) {
	for name, store := range map[string]store.Store{"memory": nil, "remote": newRemote()} {
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Per(10, 1000*time.Hour), StoreTimeout: time.Minute})
		_, _ = l.DecideN(t.Context(), "k", 6)
		for _, c := range []struct {
			n, want int64
			err     error
		}{{-1, 4, bucket.ErrNegative}, {math.MinInt64, 4, bucket.ErrNegative}, {0, 4, nil}, {2, 6, nil}, {math.MaxInt64, 10, nil}} {
			if err := l.Return(t.Context(), "k", c.n); !errors.Is(err, c.err) || left(t, l) != c.want {
				t.Errorf("%s: return of %d: got %v and %d left want %v and %d", name, c.n, err, left(t, l), c.err, c.want)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := l.Return(ended, "k", 1); !errors.Is(err, context.Canceled) || errors.Is(err, bucket.ErrStore) {
			t.Errorf("%s: got %v want context.Canceled", name, err)
		}
	}
}

// TestReset checks that Reset fills the bucket, wakes waiters and drops a cached denial.
func TestReset(t *testing.T) {
	down := newRemote()
	for name, c := range map[string]bucket.Config{
		"memory": {}, "remote": {Store: newRemote()}, "with leases": {Store: newRemote(), Lease: 10},
		"local share": {Store: down, OnFailure: bucket.LocalShare},
	} {
		bubble(t, name, func(t *testing.T) {
			if down.set(nil, nil); name == "local share" {
				down.set(nil, errDown)
			}
			c.Limit = bucket.Per(50, time.Hour)
			l := limiter(t, c)
			_, _ = l.DecideN(t.Context(), "other", 50)
			_, _ = l.DecideN(t.Context(), "k", 50)
			wants(t, l.Take(t.Context(), "k", 1), bucket.ErrDenied, "an empty bucket")
			var want error // what Reset returns
			if name == "local share" {
				want = bucket.ErrStore // has not done it, but the share is filled
			}
			wants(t, l.Reset(t.Context(), "k"), want, "Reset")
			wants(t, l.Take(t.Context(), "k", 1), nil, "one of a bucket that was filled")
			if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining < 40 {
				t.Errorf("a bucket that was filled: got %+v, %v", d, err)
			}
			wants(t, l.Take(t.Context(), "other", 1), bucket.ErrDenied, "another bucket")
			begun, served := time.Now(), make(chan error, 1)
			go func() { served <- l.Wait(context.Background(), "other", 1) }()
			synctest.Wait()
			wants(t, l.Reset(t.Context(), "other"), want, "Reset")
			if err := <-served; err != nil || time.Since(begun) > 0 {
				t.Errorf("a waiter: got %v after %v", err, time.Since(begun))
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if err := l.Reset(over, "k"); !errors.Is(err, context.Canceled) || errors.Is(err, bucket.ErrStore) {
				t.Errorf("a context that is over: got %v", err)
			}
		})
	}
}

// cold is a store that must be warmed, and that has a bad setting.
type cold struct {
	*remote
	warmed int
}

func (c *cold) Warm(context.Context) error { c.warmed++; return c.err }

func (c *cold) Check() error { return errDown }

func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cold{remote: newRemote()}
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(1)})
		if err := l.Warm(t.Context()); err != nil || s.warmed != 1 || s.calls.Load() != 0 {
			t.Errorf("got %v, warmed %d times, %d calls", err, s.warmed, s.calls.Load())
		}
		s.set(nil, errDown)
		if err := l.Warm(t.Context()); !errors.Is(err, bucket.ErrStore) || !errors.Is(err, errDown) {
			t.Errorf("a store that fails: %v", err)
		}
		plain := newRemote()
		l = limiter(t, bucket.Config{Store: plain, Limit: bucket.PerSecond(1)})
		if err := l.Warm(t.Context()); err != nil || plain.calls.Load() != 1 {
			t.Errorf("a store without Warm: %v, %d calls, want one", err, plain.calls.Load())
		}
		must(t, l.Take(t.Context(), "", 1)) // Warm takes none
		plain.set(make(chan struct{}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wants(t, l.Warm(ctx), context.DeadlineExceeded, "a store that hangs")
		wants(t, limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}).Warm(t.Context()), nil, "a store in memory")
		if err := (*bucket.Limiter)(nil).Warm(t.Context()); err == nil {
			t.Error("a nil limiter: no error")
		}
	})
}

// TestHooks_Warned checks that a bad setting is reported once, and that a panic of the hook is
// counted.
func TestHooks_Warned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		l := limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: h.hooks()})
		for range 3 {
			_, _ = l.Decide(t.Context(), "k")
		}
		if len(h.warned) != 1 || !errors.Is(h.warned[0], errDown) {
			t.Errorf("warned of %v, want one error", h.warned)
		}
		l = limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: bucket.Hooks{
			StoreWarned: func(l *bucket.Limiter, _ error) { l.Allow(context.Background(), "w") },
		}})
		if !l.Allow(t.Context(), "k") || l.Stats().Tokens != 2 {
			t.Errorf("a hook that asks for a token: got %d tokens want 2", l.Stats().Tokens)
		}
		l = limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: bucket.Hooks{
			StoreWarned: func(*bucket.Limiter, error) { panic("boom") },
		}})
		if d, err := l.Decide(t.Context(), "k"); err != nil || !d.Allowed || l.Stats().HookPanics != 1 {
			t.Errorf("a hook that panics: %+v, %v, %d panics", d, err, l.Stats().HookPanics)
		}
	})
}
