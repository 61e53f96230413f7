package statusz_test

import (
	"context"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestHooksLeaveCallsAlone: only Created and Closed are told, so that calls cost what they cost without.
func TestHooksLeaveCallsAlone(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	h := page.Hooks()
	if h.Created == nil || h.Closed == nil {
		t.Error("got no Created or no Closed")
	}
	if h.Shed != nil || h.Started != nil || h.Finished != nil || h.FellBack != nil {
		t.Error("got a hook that calls would have to call")
	}
}

func TestCallsAllocateNothing(t *testing.T) {
	page := statusz.New()
	defer page.Close()
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: page.Hooks()}))
	defer th.Close()
	ok := func(context.Context) error { return nil }
	for range 100 { // so that some are shed
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return faults.Unavailable(0) })
	}
	ctx := t.Context()
	for _, p := range []throttle.Priority{throttle.High, throttle.Low} {
		allocs := testing.AllocsPerRun(100, func() {
			for range 64 {
				_ = th.Do(ctx, p, ok)
			}
		})
		if allocs != 0 {
			t.Errorf("%v: got %v allocations in 64 calls want 0", p, allocs)
		}
	}
}
