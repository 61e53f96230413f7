package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleeperStaysAsleep: 64 workers see one event, and the delay is raised by each of them: this is what the act shows.
func TestSleeperStaysAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		shared := &sleeper{}
		if !shared.succeeded(ctx) || shared.delay() != 0 {
			t.Errorf("a success at first: got %v want none", shared.delay())
		}
		w := start(ctx, 64, shared.failed)
		synctest.Wait()
		if got := shared.delay(); got < 5*time.Minute || got > sleeperLongest {
			t.Errorf("after one event: got %v want 15 minutes or nearly", got)
		}
		cancel()
		w.end()
	})
}

func TestSleeperComesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sleeper{interval: 2 * time.Second}
		begun := time.Now()
		for range sleeperThreshold {
			shared.succeeded(t.Context())
		}
		if got := shared.delay(); got < 1260*time.Millisecond || got > 2340*time.Millisecond {
			t.Errorf("after %d successes: got %v want 1.8 s and 30 %% of noise", sleeperThreshold, got)
		}
		if got := time.Since(begun); got < 18*time.Second {
			t.Errorf("slept: got %v want ten times", got)
		}
		for shared.delay() > 0 {
			shared.succeeded(t.Context())
		}
	})
}
