package throttletest_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestClockStandsStillUntilItIsAdvanced(t *testing.T) {
	now := time.Now()
	clock, start := throttletest.NewClock(now), now.Round(0) // without the monotonic reading
	if got := clock.Now(); got != start {
		t.Errorf("Now() = %v, want %v", got, start)
	}
	clock.Advance(time.Hour)
	clock.Advance(-time.Minute)
	if got, want := clock.Now(), start.Add(59*time.Minute); got != want {
		t.Errorf("Now() = %v, want %v", got, want)
	}
}

func TestZeroClockIsReady(t *testing.T) {
	var clock throttletest.Clock
	parallel(64, func(int) { clock.Advance(time.Second); clock.Now() })
	if got, want := clock.Now(), (time.Time{}).Add(64*time.Second); got != want {
		t.Errorf("Now() = %v, want %v", got, want)
	}
}
