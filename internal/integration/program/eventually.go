package program

import (
	"context"
	"testing"
	"time"
)

// Timeout limits every wait of a test. It is long because the machines are shared.
const Timeout = 2 * time.Minute

// pollInterval is the longest time between two checks of Eventually. The first ones follow each other faster.
const pollInterval = 50 * time.Millisecond

// Eventually calls missing until it returns "". If that takes longer than Timeout, it fails the test
// with the last answer of missing.
func Eventually(t testing.TB, what string, missing func() string) {
	t.Helper()
	late := time.NewTimer(Timeout)
	defer late.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, pollInterval) {
		lack := missing()
		if lack == "" {
			return
		}
		select {
		case <-time.After(pause):
		case <-late.C:
			t.Fatalf("%s: not within %v: %s", what, Timeout, lack)
		case <-t.Context().Done():
			t.Fatalf("%s: the test is over: %s", what, lack)
		}
	}
}

// Sleep waits for d. It reports false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
