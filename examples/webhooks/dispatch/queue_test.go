package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueHandsOutWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := NewQueue()
		go q.Run(ctx)
		begun := time.Now()
		at := func(s int, attempts int) Delivery {
			return Delivery{Due: begun.Add(time.Duration(s) * time.Second), Attempts: attempts}
		}
		q.Put(at(3, 3), at(1, 1))
		go func() {
			time.Sleep(1500 * time.Millisecond)
			q.Put(at(2, 2)) // earlier than what is waited for
		}()
		for want := 1; want <= 3; want++ {
			d, ok := q.Take(ctx)
			if after := time.Since(begun); !ok || d.Attempts != want || after != time.Duration(want)*time.Second {
				t.Errorf("Take: got delivery %d after %v, %v want %d after as many seconds", d.Attempts, after, ok, want)
			}
		}
		cancel()
		if _, ok := q.Take(ctx); ok {
			t.Error("Take at the end: got a delivery want none")
		}
	})
}

// TestQueueLosesNothing: also not what it was about to hand out when it ended.
func TestQueueLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := NewQueue()
		go q.Run(ctx)
		now := time.Now()
		q.Put(Delivery{Due: now}, Delivery{Due: now}, Delivery{Due: now.Add(time.Hour)})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := q.Due(); got != 2 {
			t.Errorf("Due: got %d want 2", got)
		}
		if got := len(q.Drain()); got != 3 {
			t.Errorf("Drain: got %d want 3", got)
		}
		if got := len(q.Drain()); got != 0 {
			t.Errorf("Drain again: got %d want 0", got)
		}
	})
}
