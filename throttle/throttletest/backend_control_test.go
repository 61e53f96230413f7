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
		if err := b.SetCapacity(perSecond); err != nil {
			t.Fatal(err)
		}
	}
	set(1000)
	if got := calls(t, b, 200); got != 100 {
		t.Errorf("from no limit to 1000 a second: %d calls at once, want 100", got)
	}
	clock.Advance(50 * time.Millisecond) // at the old rate: 50 calls
	set(100)
	if got := calls(t, b, 200); got != 10 {
		t.Errorf("from 1000 to 100 a second: %d calls at once, want 10", got)
	}
	clock.Advance(time.Second)
	set(2000)
	if got := calls(t, b, 300); got != 10 {
		t.Errorf("from 100 to 2000 a second: %d calls at once, want the 10 saved up", got)
	}
	set(0)
	if got := calls(t, b, 1000); got != 1000 {
		t.Errorf("without a limit: %d of 1000 calls", got)
	}
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
	if got := b.Stats(); got.Calls() != workers*each || got.Active != 0 || got.Canceled != 0 {
		t.Errorf("Stats() = %+v, %d calls, want %d, none active or canceled", got, got.Calls(), workers*each)
	}
	if got := b.Stats(); got.Rejected != b.Rejected() || got.Served != b.Served() {
		t.Errorf("Served() = %d, Rejected() = %d, want those of %+v", b.Served(), b.Rejected(), got)
	}
}
