package breaker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestModes lets the same circuit fail in each mode, with Run and without.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode             throttle.Mode
		err              error // of a call after the failures
		changes, shadows uint64
		state            breaker.State
	}{
		{throttle.ModeEnforce, breaker.ErrOpen, 1, 0, breaker.Open},
		{throttle.ModeShadow, nil, 1, 1, breaker.Open},
		{throttle.ModeOff, nil, 0, 0, breaker.Closed},
	} {
		for _, run := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				m, k := agent(t, breaker.Config{Mode: tt.mode}), breaker.Key{ID: "k"}
				defer m.Close()
				if run {
					running(t, m)
				}
				fails(t, m, k, 10)
				time.Sleep(5*time.Second + 1)
				wants(t, m.CanExecute(t.Context(), k), tt.err, "%v, Run %v", tt.mode, run)
				s := m.Stats()
				var calls breaker.CallStats
				for _, c := range s.Calls {
					calls.Admitted, calls.Shed, calls.ShadowShed = calls.Admitted+c.Admitted, calls.Shed+c.Shed, calls.ShadowShed+c.ShadowShed
				}
				if s.Mode != tt.mode || s.Changes[breaker.Open] != tt.changes || calls.ShadowShed != tt.shadows || calls.Admitted+calls.Shed != 11 {
					t.Errorf("%v, Run %v: got %+v", tt.mode, run, s)
				}
				if status := m.Status(k); status.State != tt.state || status.Shadow != (tt.mode == throttle.ModeShadow) {
					t.Errorf("%v, Run %v: got %+v, want %v", tt.mode, run, status, tt.state)
				}
			})
		}
	}
}

// TestModeOffLetsEverythingThrough whatever the store has, and if it is stale. Its circuits are still there afterwards.
func TestModeOffLetsEverythingThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := breaker.NewMemoryStore()
		on := agent(t, breaker.Config{Store: s, Poll: polled(breaker.PollResult{Failures: 20})})
		defer on.Close()
		sample(t, on)
		off := agent(t, breaker.Config{Store: s, Mode: throttle.ModeOff, OnStale: breaker.FailClosed})
		defer off.Close()
		a, b := breaker.Key{ID: "a"}, breaker.Key{ID: "b"}
		wants(t, errors.Join(off.CanExecute(t.Context(), a), off.Disable(t.Context(), b), off.CanExecute(t.Context(), b)), nil, "in ModeOff")
		time.Sleep(3 * time.Second)
		if err := errors.Join(off.Sample(t.Context()), off.CanExecute(t.Context(), a)); err != nil && !errors.Is(err, breaker.ErrNotLeading) {
			t.Errorf("after a round: got %v, want nil", err)
		}
		must(t, on.Refresh(t.Context()))
		wants(t, on.CanExecute(t.Context(), a), breaker.ErrOpen, "enforcing")
		wants(t, on.CanExecute(t.Context(), b), breaker.ErrDisabled, "enforcing, by hand")
	})
}
