package throttletest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestServedCallsTakeTheLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Capacity: 10, Latency: time.Second})
		start := time.Now()
		if calls(t, b, 1) != 1 || time.Since(start) != time.Second {
			t.Errorf("a served call took %v, want 1s", time.Since(start))
		}
		b.Fail(errors.New("no"))
		start = time.Now()
		if calls(t, b, 1) != 0 || time.Since(start) != time.Second {
			t.Errorf("a failed call took %v, want 1s", time.Since(start))
		}
	})
}

func TestLatencyIsNotWaitedForOnNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, clock := newBackend(t, throttletest.BackendConfig{Latency: time.Second})
		before, start := clock.Now(), time.Now()
		calls(t, b, 1)
		if took := time.Since(start); took != time.Second || clock.Now() != before {
			t.Errorf("the call took %v of the bubble's time and %v of Now's, want 1s and none", took, clock.Now().Sub(before))
		}
	})
}

func TestCallEndsWithItsContext(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		took    time.Duration
		want    error
	}{
		{"long before", time.Millisecond, time.Millisecond, context.DeadlineExceeded},
		{"just before", time.Second - 1, time.Second - 1, context.DeadlineExceeded},
		{"exactly with the latency", time.Second, time.Second, context.DeadlineExceeded},
		{"just after", time.Second + 1, time.Second, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // a race of two timers would show
				synctest.Test(t, func(t *testing.T) {
					b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
					defer cancel()
					if err := b.Call(ctx); !errors.Is(err, tt.want) || time.Since(start) != tt.took {
						t.Errorf("Call() = %v after %v, want %v after %v", err, time.Since(start), tt.want, tt.took)
					}
				})
			}
		})
	}
}

func TestCanceledCallsAreCountedAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Latency: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Call(ctx) }()
		synctest.Wait()
		if got := b.Stats(); got != (throttletest.BackendStats{Active: 1}) {
			t.Errorf("Stats() = %+v while the call is under way, want it active", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Call() = %v, want %v", err, context.Canceled)
		}
		if got := b.Stats(); got != (throttletest.BackendStats{Canceled: 1}) || got.Calls() != 1 {
			t.Errorf("Stats() = %+v, want it canceled", got)
		}
	})
}

func TestACallUnderWayEndsAsItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
		start := time.Now()
		done := make(chan error)
		go func() { done <- b.Call(t.Context()) }()
		synctest.Wait()
		b.SetOutage(true)
		b.Fail(errors.New("no"))
		if err := b.SetLatency(time.Hour); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil || time.Since(start) != time.Second {
			t.Errorf("Call() = %v after %v, want nil after 1s", err, time.Since(start))
		}
	})
}
