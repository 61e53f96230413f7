package backoff_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestABurstIsOneStep lets many calls be throttled at once, with and without a delay before.
func TestABurstIsOneStep(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode}))
				for event := range uint64(3) {
					permits := make([]backoff.Permit, 512)
					for i := range permits {
						permits[i] = wait(t, r)
					}
					atOnce(permits, func(p backoff.Permit) { p.Done(backoff.Throttled) })
					if s := r.Stats(); s.Ups != event+1 || s.Throttled != 512*(event+1) || s.Generation != event+1 {
						t.Errorf("event %d: got %+v want one step up each, 512 throttled", event, s)
					}
				}
			})
		})
	}
}

// TestWhatWasLetThroughBeforeSaysNothing: neither success nor failure of an older generation moves the delay.
func TestWhatWasLetThroughBeforeSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, DownMultiplierThreshold: 2}))
		old := make([]backoff.Permit, 100)
		for i := range old {
			old[i] = wait(t, r)
		}
		old[0].Done(backoff.Throttled)
		for _, p := range old[1:50] {
			p.Done(backoff.Success)
		}
		for _, p := range old[50:] {
			p.Done(backoff.Throttled)
		}
		if s := r.Stats(); s.Ups != 1 || s.Downs != 0 || s.Delay != time.Second {
			t.Errorf("got %+v want one step up, none down, 1s", s)
		}
	})
}

// TestSuccessesInARow: a step up begins the count anew, an ignored call does not.
func TestSuccessesInARow(t *testing.T) {
	const up, ok, ign = backoff.Throttled, backoff.Success, backoff.Ignored
	for _, tt := range []struct {
		outcomes  []backoff.Outcome
		ups, down uint64
	}{
		{[]backoff.Outcome{up, ok, ok}, 1, 0},
		{[]backoff.Outcome{up, ok, ok, ok}, 1, 1},
		{[]backoff.Outcome{up, ok, ok, up, ok, ok}, 2, 0},
		{[]backoff.Outcome{up, ok, ign, ok, ign, ok}, 1, 1},
		{[]backoff.Outcome{up, ok, ok, ok, ok, ok}, 1, 1},
		{[]backoff.Outcome{up, ok, ok, ok, ok, ok, ok}, 1, 2},
		{[]backoff.Outcome{up, -3, -1 << 63, ok, ok}, 1, 0},
	} {
		t.Run(fmt.Sprint(tt.outcomes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := backoff.Must(backoff.New(backoff.Config{
					Name: "x", InitialInterval: time.Second, DownMultiplierThreshold: 3, DownMultiplier: 0.99, Up: backoff.Linear(time.Minute, time.Hour),
				}))
				for _, o := range tt.outcomes {
					wait(t, r).Done(o)
				}
				if s := r.Stats(); s.Ups != tt.ups || s.Downs != tt.down || s.Successes+s.Throttled+s.Ignored != uint64(len(tt.outcomes)) {
					t.Errorf("got %+v want %d steps up, %d down, %d calls", s, tt.ups, tt.down, len(tt.outcomes))
				}
			})
		})
	}
}

// atOnce does something with each, in goroutines that begin together.
func atOnce[T any](all []T, f func(T)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for _, one := range all {
		wg.Go(func() {
			<-begin
			f(one)
		})
	}
	close(begin)
	wg.Wait()
}
