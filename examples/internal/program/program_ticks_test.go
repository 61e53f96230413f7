package program

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestEvery(t *testing.T) {
	for total, want := range map[time.Duration]int{3 * time.Second: 3, 2500 * time.Millisecond: 3, time.Millisecond: 1, 0: 100} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start, calls := time.Now(), 0
			err := Every(ctx, time.Second, total, func(elapsed time.Duration) error {
				if calls++; elapsed != time.Since(start) || elapsed != time.Duration(calls)*time.Second {
					t.Errorf("call %d: got elapsed %v after %v", calls, elapsed, time.Since(start))
				}
				if calls == 100 {
					cancel()
				}
				return nil
			})
			if calls != want || err != nil {
				t.Errorf("total %v: got %d calls and error %v want %d and nil", total, calls, err, want)
			}
		})
	}
}

func TestAnErrorEndsEvery(t *testing.T) {
	want := errors.New("no space left")
	if err := Every(t.Context(), time.Nanosecond, 0, func(time.Duration) error { return want }); !errors.Is(err, want) {
		t.Errorf("got error %v want %v", err, want)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("Sleep: got %v after %v want nil after 1s", err, time.Since(start))
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("a context that ends: got %v after %v want its error after 1m0s", err, time.Since(start))
		}
	})
}
