package throttletest_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestClockStandsStillUntilItIsAdvanced(t *testing.T) {
	now := time.Now()
	clock, start := throttletest.NewClock(now), now.Round(0) // without the monotonic reading
	equal(t, "Now", clock.Now(), start)
	clock.Advance(time.Hour)
	clock.Advance(-time.Minute)
	equal(t, "Now", clock.Now(), start.Add(59*time.Minute))
}

func TestZeroClockIsReady(t *testing.T) {
	var clock throttletest.Clock
	parallel(64, func(int) { clock.Advance(time.Second); clock.Now() })
	equal(t, "Now", clock.Now(), time.Time{}.Add(64*time.Second))
}
