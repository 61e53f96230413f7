package backoff_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestRetryAfterHoldsThoseWhoWait already, for a shorter delay. Who waits for a longer one does so as before.
func TestRetryAfterHoldsThoseWhoWait(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for _, tt := range []struct{ delay, after, want time.Duration }{
			{time.Second, 5 * time.Second, 5 * time.Second},
			{5 * time.Second, 5 * time.Second, 5 * time.Second},
			{10 * time.Second, 5 * time.Second, 10 * time.Second},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := backoff.Must(backoff.New(backoff.Config{
					Name: "x", Mode: mode, InitialInterval: tt.delay, MaxInterval: time.Minute, UpMultiplier: 1 + 1e-12, RandomizationFactor: -1,
				}))
				held := []backoff.Permit{wait(t, r), wait(t, r), wait(t, r)}
				held[0].Done(backoff.Throttled)
				begun := time.Now()
				first := make(chan time.Duration, 3)
				for range 3 {
					go func() { wait(t, r); first <- time.Since(begun) }()
				}
				synctest.Wait()
				held[1].Done(backoff.ThrottledFor(tt.after / 2))
				time.Sleep(tt.delay / 2)
				held[2].Done(backoff.ThrottledFor(tt.after - tt.delay/2))
				if got := <-first; got != tt.want {
					t.Errorf("%v, a delay of %v, Retry-After %v: got the first turn after %v want %v", mode, tt.delay, tt.after, got, tt.want)
				}
				<-first
				<-first
				synctest.Wait()
				if s := r.Stats(); s.Waiting != 0 || s.Slept != 3 {
					t.Errorf("%v: got %+v want three that slept once each", mode, s)
				}
			})
		}
	}
}

// TestResetLetsThoseGoWhoWait for the delay, or because the service wants no call, with a delay or without.
func TestResetLetsThoseGoWhoWait(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for name, prepare := range map[string]func(r *backoff.Responsive, p, q backoff.Permit){
			"a delay":              func(_ *backoff.Responsive, p, _ backoff.Permit) { p.Done(backoff.Throttled) },
			"a delay, and no call": func(_ *backoff.Responsive, p, _ backoff.Permit) { p.Done(backoff.ThrottledFor(30 * time.Second)) },
			"no call, without delay": func(r *backoff.Responsive, _, q backoff.Permit) {
				r.Reset()
				q.Done(backoff.ThrottledFor(30 * time.Second))
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, InitialInterval: 10 * time.Second, RandomizationFactor: -1}))
				prepare(r, wait(t, r), wait(t, r))
				begun := time.Now()
				var all sync.WaitGroup
				var permits [3]backoff.Permit
				for i := range permits {
					all.Go(func() { permits[i] = wait(t, r) })
				}
				synctest.Wait()
				if s := r.Stats(); s.Waiting != 3 {
					t.Errorf("%v, %s: got %d who wait want 3", mode, name, s.Waiting)
				}
				time.Sleep(time.Second)
				r.Reset()
				all.Wait()
				if got := time.Since(begun); got != time.Second {
					t.Errorf("%v, %s: got the last turn after %v want it at Reset, after 1s", mode, name, got)
				}
				atOnce(permits[:], func(p backoff.Permit) { p.Done(backoff.Throttled) })
				if s := r.Stats(); s.Waiting != 0 || s.Slept != 3 || s.Delay != 10*time.Second {
					t.Errorf("%v, %s: got %+v want three that slept, and that what became of their calls counts", mode, name, s)
				}
			})
		}
	}
}
