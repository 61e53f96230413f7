package backoff_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestCanceledTurnGoesToTheNext, wherever in the queue the canceled call was.
func TestCanceledTurnGoesToTheNext(t *testing.T) {
	for cancelled := range 3 {
		for _, when := range []time.Duration{1, 500 * time.Millisecond, 999 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				r := slow(t, backoff.Config{}, time.Second)
				begun := time.Now()
				var at [3]time.Duration
				var all sync.WaitGroup
				for i := range at {
					ctx := t.Context()
					if i == cancelled {
						var cancel context.CancelFunc
						ctx, cancel = context.WithCancel(ctx)
						time.AfterFunc(when, cancel)
					}
					all.Go(func() {
						_, err := r.Wait(ctx)
						at[i] = time.Since(begun)
						if (err != nil) != (i == cancelled) {
							t.Errorf("worker %d: got %v", i, err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				turn := time.Second
				for i, got := range at {
					want := when
					if i != cancelled {
						want, turn = turn, turn+time.Second
					}
					equals(t, got, want, "worker %d, of which %d is cancelled after %v: its turn", i, cancelled, when)
				}
				if s := r.Stats(); s.Canceled != 1 || s.Slept != 2 || s.Waiting != 0 {
					t.Errorf("got %+v want 1 cancelled, 2 slept", s)
				}
			})
		}
	}
}

// TestEndOfManyWaits wants that all workers return at once. The bubble fails if a goroutine is left.
func TestEndOfManyWaits(t *testing.T) {
	const workers = 2000
	for _, want := range []error{context.Canceled, backoff.ErrClosed} {
		eachMode(t, func(t *testing.T, mode backoff.Mode) {
			closed := 0
			r := slow(t, backoff.Config{Mode: mode, Hooks: backoff.Hooks{Closed: func(*backoff.Responsive) { closed++ }}}, time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					if _, err := r.Wait(ctx); !errors.Is(err, want) {
						t.Errorf("got %v want %v", err, want)
					}
				})
			}
			synctest.Wait()
			begun := time.Now()
			equals(t, r.Stats().Waiting, workers, "waiting")
			if errors.Is(want, context.Canceled) {
				cancel()
			} else {
				_, _ = r.Close(), r.Close()
			}
			all.Wait()
			if s := r.Stats(); s.Waiting != 0 || s.Canceled != workers || time.Since(begun) != 0 {
				t.Errorf("after %v: got %+v want none sleeping, all canceled, at once", time.Since(begun), s)
			}
			if _, err := r.Wait(t.Context()); time.Since(begun) > time.Hour || closed == 0 && err != nil || closed == 1 && !errors.Is(err, want) || closed > 1 {
				t.Errorf("the next turn: got %v after %v, closed %d times want it within the gap", err, time.Since(begun), closed)
			}
		})
	}
}

// TestWaitsWithAContextThatIsOver: the call is not made and does not count. SleepOnSuccess and SleepOnFailure record a
// call that was made before: it may have ended with its context because the service is overloaded.
func TestWaitsWithAContextThatIsOver(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, wait := range waits(r) {
		if err := wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v want %v", name, err, context.Canceled)
		}
	}
	equals(t, r.Stats(), backoff.Stats{Name: "x", Successes: 1, Throttled: 1, Ups: 1, Delay: 100 * time.Microsecond}, "stats")
}

// TestStepChangesTheWait wants that a step up makes the first waiter wait longer, and a step down shorter.
func TestStepChangesTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Second, RandomizationFactor: -1, UpMultiplier: 10, MaxInterval: time.Minute,
			DownMultiplier: 0.5, DownMultiplierThreshold: 1,
		}))
		wait(t, r).Finish(backoff.Throttled)
		held := wait(t, r)
		begun := time.Now()
		turn := make(chan time.Duration)
		go func() { wait(t, r).Finish(backoff.Ignored); turn <- time.Since(begun) }()
		time.Sleep(500 * time.Millisecond)
		held.Finish(backoff.Throttled) // 10 s now
		equals(t, <-turn, 10*time.Second, "the turn after a step up")
		held = wait(t, r)
		begun = time.Now()
		go func() { wait(t, r).Finish(backoff.Ignored); turn <- time.Since(begun) }()
		synctest.Wait()
		held.Finish(backoff.Success) // 5 s
		equals(t, <-turn, 5*time.Second, "the turn after a step down")
	})
}

// TestRetryAfterDelaysWaitingCalls with a shorter delay, and leaves those with a longer one.
func TestRetryAfterDelaysWaitingCalls(t *testing.T) {
	for _, tt := range []struct{ delay, after, want time.Duration }{
		{time.Second, 5 * time.Second, 5 * time.Second},
		{5 * time.Second, 5 * time.Second, 5 * time.Second},
		{10 * time.Second, 5 * time.Second, 10 * time.Second},
	} {
		eachMode(t, func(t *testing.T, mode backoff.Mode) {
			r := backoff.Must(backoff.New(backoff.Config{
				Name: "x", Mode: mode, InitialInterval: tt.delay, MaxInterval: time.Minute, UpMultiplier: 1 + 1e-12, RandomizationFactor: -1,
			}))
			held := []backoff.Permit{wait(t, r), wait(t, r), wait(t, r)}
			held[0].Finish(backoff.Throttled)
			begun := time.Now()
			first := make(chan time.Duration, 3)
			for range 3 {
				go func() { wait(t, r); first <- time.Since(begun) }()
			}
			synctest.Wait()
			held[1].Finish(backoff.ThrottledFor(tt.after / 2))
			time.Sleep(tt.delay / 2)
			held[2].Finish(backoff.ThrottledFor(tt.after - tt.delay/2))
			equals(t, <-first, tt.want, "%v, a delay of %v, Retry-After %v: the first turn", mode, tt.delay, tt.after)
			<-first
			<-first
			synctest.Wait()
			if s := r.Stats(); s.Waiting != 0 || s.Slept != 3 {
				t.Errorf("%v: got %+v want three that slept once each", mode, s)
			}
		})
	}
}

// TestRetryAfter wants that all workers wait, up to MaxInterval.
func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct{ after, want time.Duration }{
		{10 * time.Second, 10 * time.Second},
		{time.Minute, time.Minute},
		{10000 * 24 * time.Hour, time.Minute},
		{math.MaxInt64, time.Minute},
		{0, time.Second},
		{-time.Hour, time.Second},
		{math.MinInt64, time.Second},
		{1, time.Second},
	} {
		eachMode(t, func(t *testing.T, mode backoff.Mode) {
			r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, InitialInterval: time.Second, MaxInterval: time.Minute, RandomizationFactor: -1}))
			wait(t, r).Finish(backoff.Ignored)
			if mode == backoff.Pace { // the first delay counts from the last turn, which is not noted without a delay
				wait(t, r).Finish(backoff.Throttled)
				wait(t, r)
			}
			wait(t, r).Finish(backoff.ThrottledFor(tt.after))
			begun := time.Now()
			wait(t, r)
			want := tt.want
			if mode == backoff.Pace && want == time.Second {
				want = 1250 * time.Millisecond
			}
			equals(t, time.Since(begun), want, "%v, ThrottledFor(%v): the turn", mode, tt.after)
		})
	}
}

// TestRetryAfterKeepsTheLongest, also if it comes with an outdated permit.
func TestRetryAfterKeepsTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", RandomizationFactor: -1}))
		a, b, c := wait(t, r), wait(t, r), wait(t, r)
		a.Finish(backoff.Throttled)
		b.Finish(backoff.ThrottledFor(20 * time.Second))
		c.Finish(backoff.ThrottledFor(5 * time.Second))
		begun := time.Now()
		wait(t, r)
		equals(t, time.Since(begun), 20*time.Second, "the turn")
	})
}
