package remote

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAwaitCallsLateOnce, and only if the result comes late.
func TestAwaitCallsLateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Int64
		await := func(d time.Duration) (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
			defer cancel()
			return Await(ctx, func(context.Context) (int, error) { time.Sleep(d); return 7, nil }, func(n int, err error) {
				if late.Add(1); n != 7 || err != nil {
					t.Errorf("late came %d, %v", n, err)
				}
			})
		}
		if n, err := await(callTimeout - 1); n != 7 || err != nil || late.Load() != 0 {
			t.Errorf("in time: %d, %v, late %d", n, err, late.Load())
		}
		if _, err := await(callTimeout + 1); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) || late.Load() != 0 {
			t.Errorf("too late: %v, late %d", err, late.Load())
		}
		time.Sleep(callTimeout)
		synctest.Wait()
		if late.Load() != 1 {
			t.Errorf("late was called %d times, want once", late.Load())
		}
	})
}

func TestAFunctionThatDoesNotReturnIsAnError(t *testing.T) {
	for name, f := range map[string]func(context.Context) (int, error){
		"panics":             func(context.Context) (int, error) { panic("boom") },
		"ends its goroutine": func(context.Context) (int, error) { runtime.Goexit(); return 1, nil },
	} {
		if n, err := Await(t.Context(), f, nil); err == nil || n != 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if n, err := Run(t.Context(), func(context.Context) (int, error) { panic("boom") }); err == nil || n != 0 {
		t.Errorf("Run: %d, %v", n, err)
	}
}
