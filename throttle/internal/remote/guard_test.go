package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const callTimeout = 50 * time.Millisecond

var (
	errStore    = errors.New("store")
	errConflict = errors.New("conflict")
)

func TestGuardPausesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(callTimeout, false, func(err error) bool { return err != nil && !errors.Is(err, errConflict) })
		calls := 0
		var answer error
		try := func() error {
			_, err := Ask(t.Context(), g, func(context.Context) (int, error) { calls++; return 0, answer }, nil)
			return err
		}
		for _, err := range []error{errStore, errStore, nil, errStore, errStore, errConflict, errStore, errStore, errConflict} {
			answer = err
			if got := try(); !errors.Is(got, err) {
				t.Fatalf("got %v, want %v", got, err)
			}
		}
		answer = errStore
		for range FailuresToRest {
			_ = try()
		}
		for _, rest := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second} {
			time.Sleep(rest - 1)
			before := calls
			if err := try(); !errors.Is(err, ErrResting) || calls != before {
				t.Errorf("just before %v: %v, %d calls", rest, err, calls-before)
			}
			time.Sleep(time.Nanosecond)
			if err := try(); !errors.Is(err, errStore) {
				t.Errorf("after %v: %v", rest, err)
			}
		}
		time.Sleep(LongestRest)
		answer = nil
		if err := try(); err != nil {
			t.Errorf("a store that has recovered: %v", err)
		}
		if err := try(); err != nil {
			t.Errorf("a second call: %v", err)
		}
	})
}

// TestGuardAbandonsCalls of a store that ignores its context, up to MostAbandoned.
func TestGuardAbandonsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(callTimeout, false, func(err error) bool { return err != nil && !errors.Is(err, errConflict) })
		unblock := make(chan struct{})
		var calls atomic.Int64
		begun := time.Now()
		for range 2 * MostAbandoned {
			_, err := Ask(t.Context(), g, func(context.Context) (int, error) { calls.Add(1); <-unblock; return 0, nil }, nil)
			if err == nil {
				t.Fatal("a blocked store has answered")
			}
			time.Sleep(LongestRest)
		}
		if calls.Load() != MostAbandoned {
			t.Errorf("%d calls abandoned, want %d", calls.Load(), MostAbandoned)
		}
		if waited := time.Since(begun) - 2*MostAbandoned*LongestRest; waited != MostAbandoned*callTimeout {
			t.Errorf("waited %v in all, want %v", waited, MostAbandoned*callTimeout)
		}
		close(unblock)
		synctest.Wait()
		if _, err := Ask(t.Context(), g, func(context.Context) (int, error) { return 0, nil }, nil); err != nil {
			t.Errorf("after it recovered: %v", err)
		}
	})
}
