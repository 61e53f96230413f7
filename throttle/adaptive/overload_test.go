package adaptive_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// TestKeepsAnOverloadedBackendServing lets the story of the package happen: five times the capacity, with and without a throttler.
func TestKeepsAnOverloadedBackendServing(t *testing.T) {
	const capacity = 200
	without := served(t, capacity, 5*capacity, false)
	with := served(t, capacity, 5*capacity, true)
	t.Logf("served of what could be: %.3f without a throttler, %.3f with it", without, with)
	if without > 0.6 {
		t.Errorf("without a throttler %.3f of the capacity was served: the backend is not overloaded", without)
	}
	if with < 0.85 {
		t.Errorf("with a throttler %.3f of the capacity was served, want at least 0.85", with)
	}
}

// served returns the part of the capacity that was used for serving, in a minute that begins a minute into the overload.
func served(t *testing.T, capacity, load int, throttled bool) float64 {
	clock := throttletest.NewClock(time.Unix(0, 0))
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: float64(capacity), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	th, err := adaptive.New(adaptive.Config{Now: clock.Now, Rand: fixedRand(7)})
	if err != nil {
		t.Fatal(err)
	}
	before := uint64(0)
	for i := range 120 * load {
		if i == 60*load {
			before = backend.Served()
		}
		clock.Advance(time.Second / time.Duration(load))
		if throttled && th.ShouldThrottle() {
			continue
		}
		th.RegisterBackendResponse(backend.Call(t.Context()) != nil)
	}
	return float64(backend.Served()-before) / float64(60*capacity)
}
