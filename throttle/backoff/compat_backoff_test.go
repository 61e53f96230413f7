package backoff_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func TestNextBackOffIsAtMostMaxInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: 10 * time.Second}))
		for i := range 512 {
			if d := r.BackOff().NextBackOff(); d > 30*time.Second {
				t.Fatalf("NextBackOff of operation %d: got %v want at most MaxInterval, 30s", i, d)
			}
		}
	})
}

func TestBackOffDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: -1}))
		wait(t, r).Finish(backoff.Throttled)
		wait(t, r).Finish(backoff.Ignored)
		begun := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				r.BackOff().NextBackOff()
				sleepFor(ctx, 900*time.Millisecond)
			}
		}()
		waiting, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := r.Wait(waiting); err != nil {
			t.Errorf("Wait beside NextBackOff, gap 1s: got %v after %v want a turn within seconds", err, time.Since(begun))
		}
		stop()
		synctest.Wait()
	})
}

// TestBackOffSuccessAfterIdleReset wants that a late success does not restore an idle delay.
func TestBackOffSuccessAfterIdleReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slow(t, backoff.Config{IdleReset: time.Minute}, 10*time.Second)
		b := r.BackOff()
		time.Sleep(time.Minute)
		b.Reset()
		b.Succeeded()
		if got := r.Delay(); got != 0 {
			t.Errorf("after IdleReset and a success: got a delay of %v want none", got)
		}
	})
}

// TestNextBackOffIsNotNegative: some libraries take a negative delay for the end of all attempts. The first
// waiter of the queue wakes late, because the processor is busy.
func TestNextBackOffIsNotNegative(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := backoff.Must(backoff.New(backoff.Config{Name: "x", RandomizationFactor: -1}))
	defer r.Close()
	b := r.BackOff()
	p, err := r.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Finish(backoff.Throttled)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Wait(context.Background())
	}()
	for r.Stats().Waiting == 0 {
		select {
		case <-ended:
			t.Skip("this goroutine did not run while the other one waited")
		default:
			runtime.Gosched()
		}
	}
	for begun := time.Now(); time.Since(begun) < 3*time.Millisecond; { // no other goroutine runs
	}
	if d := b.NextBackOff(); d < 0 {
		t.Errorf("got %v want at least 0", d)
	}
}
