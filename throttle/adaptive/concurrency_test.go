package adaptive_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// fixedRand returns draws that are the same every time, for one goroutine.
func fixedRand(seed uint64) func() float64 {
	return rand.New(rand.NewPCG(seed, seed)).Float64
}

func TestNothingIsLostOrCountedTwice(t *testing.T) {
	th, err := adaptive.New(adaptive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const workers, calls = 64, 2000
	var local, accepted, throttled atomic.Uint64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for call := range calls {
				switch {
				case th.ShouldThrottle():
					local.Add(1)
				case (worker+call)%3 == 0:
					th.Accepted()
					accepted.Add(1)
				default:
					th.RegisterBackendResponse(true)
					throttled.Add(1)
				}
				if p := th.RejectionProbability(); p < 0 || p >= 1 {
					t.Errorf("RejectionProbability() = %v", p)
				}
			}
		})
	}
	wg.Wait()
	want := adaptive.Counts{
		Accepted: accepted.Load(), Rejected: throttled.Load(), Shed: local.Load(),
	}
	if got := th.Stats().Total; got != want || got.Requests() != workers*calls {
		t.Errorf("Total = %+v, want %+v, %d in all", got, want, workers*calls)
	}
	if want.Shed == 0 {
		t.Error("nothing was throttled locally")
	}
}

// TestUserFunctionsRunUnderNoLock: a Now and a Rand that call the throttler would wait for ever.
func TestUserFunctionsRunUnderNoLock(t *testing.T) {
	clock := throttletest.NewClock(time.Unix(0, 0))
	var th *adaptive.Throttler
	calling := false
	call := func() {
		if th == nil || calling {
			return
		}
		calling = true
		th.Throttled()
		th.ShouldThrottle()
		th.Stats()
		calling = false
	}
	th, err := adaptive.New(adaptive.Config{
		Now:  func() time.Time { call(); return clock.Now() },
		Rand: func() float64 { call(); return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		th.Throttled()
		th.ShouldThrottle()
		th.Stats()
	}
	if got := th.Stats().Total.Shed; got < 100 {
		t.Errorf("%d throttled locally, want 100 and more", got)
	}
}
