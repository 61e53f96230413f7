package program

import (
	"context"
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
