package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestIdleResetByWaiting: whoever comes after a long silence need not wait, and is not counted as one who has; whoever comes before breaks it.
func TestIdleResetByWaiting(t *testing.T) {
	const idle = time.Minute
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for _, tt := range []struct {
			name   string
			pauses []time.Duration
			want   time.Duration
		}{
			{"long enough", []time.Duration{idle}, 0},
			{"broken by a call", []time.Duration{idle - 2*time.Second, idle - 2*time.Second}, 10 * time.Second},
			{"broken, then long enough", []time.Duration{idle - 2*time.Second, idle}, 0},
		} {
			synctest.Test(t, func(t *testing.T) {
				slept := 0
				r := slow(t, backoff.Config{Mode: mode, IdleReset: idle, Hooks: backoff.Hooks{
					Slept: func(context.Context, backoff.SleepEvent) { slept++ },
				}}, 10*time.Second)
				for i, pause := range tt.pauses {
					time.Sleep(pause)
					if i < len(tt.pauses)-1 {
						wait(t, r) // never done
					}
				}
				before, begun := slept, time.Now()
				wait(t, r) // without a look at the delay before, which forgets it too
				if tt.want == 0 && (slept != before || r.Stats().Waiting != 0 || time.Since(begun) != 0) {
					t.Errorf("%v, %s: got %d that slept, %+v want %d, and none sleeping", mode, tt.name, slept, r.Stats(), before)
				}
				if got := r.Delay(); got != tt.want {
					t.Errorf("%v, %s: got a delay of %v want %v", mode, tt.name, got, tt.want)
				}
			})
		}
	}
}

// TestALongSleepIsNoSilence: the delay of somebody who sleeps it is not forgotten, nor when he is awake again.
func TestALongSleepIsNoSilence(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		synctest.Test(t, func(t *testing.T) {
			r := slow(t, backoff.Config{Mode: mode, IdleReset: time.Minute}, time.Hour)
			go func() { _, _ = r.Wait(t.Context()) }()
			time.Sleep(30 * time.Minute)
			if got := r.Delay(); got != time.Hour {
				t.Errorf("%v, while somebody sleeps: got %v want 1h", mode, got)
			}
			time.Sleep(30*time.Minute + time.Second)
			if got := r.Delay(); got != time.Hour {
				t.Errorf("%v, a second after he slept: got %v want 1h", mode, got)
			}
		})
	}
}
