package throttletest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestClockStandsStillUntilItIsAdvanced(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := throttletest.NewClock(start)
	if got := clock.Now(); got != start {
		t.Errorf("Now() = %v, want %v", got, start)
	}
	clock.Advance(time.Hour)
	clock.Advance(-time.Minute)
	if got, want := clock.Now(), start.Add(59*time.Minute); got != want {
		t.Errorf("Now() = %v, want %v", got, want)
	}
}

func TestClockDropsTheMonotonicReading(t *testing.T) {
	start := time.Now()
	if got := throttletest.NewClock(start).Now(); got != start.Round(0) {
		t.Errorf("Now() = %v, want %v", got, start.Round(0))
	}
}

func TestZeroClockIsReady(t *testing.T) {
	var clock throttletest.Clock
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { clock.Advance(time.Second); clock.Now() })
	}
	wg.Wait()
	if got, want := clock.Now(), (time.Time{}).Add(64*time.Second); got != want {
		t.Errorf("Now() = %v, want %v", got, want)
	}
}
