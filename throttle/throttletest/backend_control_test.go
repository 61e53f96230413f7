package throttletest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestSetCapacityTakesEffectAtOnce(t *testing.T) {
	b, clock := newBackend(t, throttletest.BackendConfig{RejectionCost: 1e-9})
	set := func(perSecond float64) {
		t.Helper()
		equal(t, "SetCapacity", b.SetCapacity(perSecond), nil)
	}
	set(1000)
	equal(t, "served at once, from no limit to 1000 a second", calls(t, b, 200), 100)
	clock.Advance(50 * time.Millisecond) // at the old rate: 50 calls
	set(100)
	equal(t, "from 1000 to 100 a second", calls(t, b, 200), 10)
	clock.Advance(time.Second)
	set(2000)
	equal(t, "from 100 to 2000 a second, the 10 saved up", calls(t, b, 300), 10)
	set(0)
	equal(t, "without a limit", calls(t, b, 1000), 1000)
}

// TestBackendIsSafeForConcurrentUse switches everything while many goroutines call.
func TestBackendIsSafeForConcurrentUse(t *testing.T) {
	b := mustBackend(t, throttletest.BackendConfig{Capacity: 1e6})
	const workers, each = 64, 500
	parallel(workers, func(worker int) {
		for call := range each {
			_ = b.Call(t.Context())
			switch (worker + call) % 50 {
			case 0:
				b.SetOutage(call%2 == 0)
			case 1:
				_ = b.SetCapacity(float64(call))
			case 2:
				_ = b.SetLatency(time.Duration(call%3) * time.Microsecond)
			case 3:
				b.Fail(errors.New("no"))
			case 4:
				b.Fail(nil)
			}
		}
	})
	got := b.Stats()
	equal(t, "calls", got.Calls(), workers*each)
	equal(t, "active and canceled", got.Active+got.Canceled, 0)
	equal(t, "Served", b.Served(), got.Served)
	equal(t, "Rejected", b.Rejected(), got.Rejected)
}
