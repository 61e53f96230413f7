package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// unslept is what a new Responsive shows: everything that can be, from 0.
func unslept() snapshot {
	return snapshot{
		delay: 0, inLine: 0, steps("up"): 0, steps("down"): 0,
		ended("success"): 0, ended("throttled"): 0, ended("ignored"): 0,
	}
}

// TestBackoffsBeginAtZero counts series too, and holds the package comment to the numbers.
func TestBackoffsBeginAtZero(t *testing.T) {
	l := newLab(t, setup{})
	l.backoff(t, backoff.Config{})
	l.backoff(t, backoff.Config{Mode: backoff.Sleep}) // of the same name
	l.read(t).want(t, unslept())
	comment := strings.Join(strings.Fields(packageComment(t)), " ")
	sentence := fmt.Sprintf("A Responsive has %d series, and after the first wait one of throttle.backoff.sleep.duration, which is %d in Prometheus", len(unslept()), seriesOfAHistogram)
	if !strings.Contains(comment, sentence) {
		t.Errorf("package comment: got no %q", sentence)
	}
}

// TestDelayGoesUpAndDown follows one through all its moves, and to the end of its memory.
func TestDelayGoesUpAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		r := l.backoff(t, backoff.Config{MaxInterval: 2 * time.Second, DownMultiplier: 0.5, DownMultiplierThreshold: 2})
		want := unslept()
		end(t.Context(), t, r, backoff.Success, backoff.Success, backoff.Ignored)
		want[ended("success")], want[ended("ignored")] = 2, 1
		l.read(t).want(t, want)

		end(t.Context(), t, r, throttled)
		want[ended("throttled")], want[steps("up")], want[delay] = 1, 1, 1
		l.read(t).want(t, want)

		end(t.Context(), t, r, backoff.Throttled, backoff.ThrottledFor(time.Second), backoff.Throttled, backoff.Throttled)
		want[ended("throttled")], want[steps("up")], want[delay], want[sleeps] = 5, 5, 2, 4 // the last step is one at the longest
		l.read(t).want(t, want)

		end(t.Context(), t, r, backoff.Success, backoff.Success)
		want[ended("success")], want[steps("down")], want[delay], want[sleeps] = 4, 1, 1, 6
		l.read(t).want(t, want)

		time.Sleep(time.Hour) // without calls
		want[steps("down")], want[delay] = 2, 0
		l.read(t).want(t, want)
	})
}

// TestThoseInLine reads the number of waiting calls: with three of them, after one gave up, and after Close.
func TestThoseInLine(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, setup{})
				r, other := l.backoff(t, backoff.Config{Mode: mode}), l.backoff(t, backoff.Config{})
				end(t.Context(), t, r, throttled)
				var line sync.WaitGroup
				for range 3 {
					line.Go(func() {
						if _, err := r.Wait(context.Background()); !errors.Is(err, backoff.ErrClosed) {
							t.Errorf("Wait: got error %v want %v", err, backoff.ErrClosed)
						}
					})
				}
				synctest.Wait()
				want := unslept()
				want[delay], want[steps("up")], want[ended("throttled")], want[inLine] = 1, 1, 1, 3
				l.read(t).want(t, want)

				giveUp(t.Context(), t, r)
				want[sleeps] = 1
				l.read(t).want(t, want)

				_ = r.Close() // ends all waits
				want[inLine], want[delay] = 0, 0
				l.read(t).of(semconv.MetricBackoffWaiting, semconv.MetricBackoffDelay).want(t, snapshot{inLine: 0, delay: 0})
				line.Wait()
				want[sleeps] = 4
				l.read(t).want(t, want)
				_ = other.Close()
				l.read(t).want(t, snapshot{sleeps: 4}) // which the SDK keeps
			})
		})
	}
}

// TestTheHighestDelayOfANameIsTold, and that of the others when it is closed.
func TestTheHighestDelayOfANameIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		low, high := l.backoff(t, backoff.Config{}), l.backoff(t, backoff.Config{})
		end(t.Context(), t, low, backoff.Throttled)
		end(t.Context(), t, high, throttled, throttled)
		want := snapshot{delay: oneStep, steps("up"): 3, ended("throttled"): 3, sleeps: 1}
		l.read(t).positive().want(t, want)
		_ = high.Close()
		want[delay] = 1
		l.read(t).positive().want(t, want)
	})
}

// TestSleepBoundsAreTheDefaults of both modes: their longest delays are bounds.
func TestSleepBoundsAreTheDefaults(t *testing.T) {
	for mode, want := range map[backoff.Mode][2]time.Duration{
		backoff.Pace: {100 * time.Microsecond, 30 * time.Second}, backoff.Sleep: {500 * time.Millisecond, 15 * time.Minute},
	} {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", Mode: mode}))
		b := r.BackOff()
		first := max(b.NextBackOff(), r.Delay())
		equal(t, "first delay of "+mode.String(), r.Delay(), want[0])
		for range 100 {
			b.NextBackOff()
		}
		equal(t, "longest delay of "+mode.String(), r.Delay(), want[1])
		if first <= 0 {
			t.Errorf("first delay of %v: got %v want more than 0", mode, first)
		}
	}
}
