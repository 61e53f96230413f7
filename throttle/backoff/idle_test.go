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

// TestIdleResetByThoseWhoRetry: whoever is throttled after a long silence begins with the first delay, also where nobody has looked at the delay
// before. While somebody waits as he was told it is not silent, however short IdleReset is.
func TestIdleResetByThoseWhoRetry(t *testing.T) {
	const idle = time.Minute
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for name, again := range map[string]func(t *testing.T, r *backoff.Responsive, b *backoff.BackOff) time.Duration{
			"SleepOnFailure": func(t *testing.T, r *backoff.Responsive, _ *backoff.BackOff) time.Duration {
				begun := time.Now()
				if err := r.SleepOnFailure(t.Context()); err != nil {
					t.Error(err)
				}
				return time.Since(begun)
			},
			"an operation": func(_ *testing.T, _ *backoff.Responsive, b *backoff.BackOff) time.Duration {
				b.Reset()
				return b.NextBackOff()
			},
			"another operation": func(_ *testing.T, r *backoff.Responsive, _ *backoff.BackOff) time.Duration {
				return r.BackOff().NextBackOff()
			},
			"one that goes on": func(_ *testing.T, _ *backoff.Responsive, b *backoff.BackOff) time.Duration { return b.NextBackOff() },
		} {
			synctest.Test(t, func(t *testing.T) {
				var steps []bool
				r := backoff.Must(backoff.New(backoff.Config{
					Name: "x", Mode: mode, InitialInterval: 10 * time.Second, MaxInterval: time.Hour, UpMultiplier: 10, RandomizationFactor: -1, IdleReset: idle,
					Hooks: backoff.Hooks{Stepped: func(e backoff.StepEvent) { steps = append(steps, e.Up()) }},
				}))
				b := r.BackOff()
				for _, want := range []time.Duration{10 * time.Second, 100 * time.Second, 1000 * time.Second} {
					if got := b.NextBackOff(); got != want {
						t.Errorf("%v, %s: NextBackOff: got %v want %v", mode, name, got, want)
					}
					time.Sleep(want) // longer than IdleReset
				}
				time.Sleep(idle)
				if got := again(t, r, b); got != 10*time.Second {
					t.Errorf("%v, %s: after a silence: got %v want 10s", mode, name, got)
				}
				if s := r.Stats(); len(steps) != 5 || steps[3] || !steps[4] || s.Ups != 4 || s.Downs != 1 {
					t.Errorf("%v, %s: got steps up %v, %+v want three, one down, one up", mode, name, steps, s)
				}
			})
		}
	}
}

// TestASuccessBreaksNoSilence that was over before its operation began.
func TestASuccessBreaksNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slow(t, backoff.Config{IdleReset: time.Minute}, 10*time.Second)
		b := r.BackOff()
		time.Sleep(time.Minute)
		b.Reset()
		b.Succeeded()
		if got := r.Delay(); got != 0 {
			t.Errorf("after a silence, and a success: got a delay of %v want none", got)
		}
	})
}
