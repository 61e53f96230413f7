//go:build !race

package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// callsPerRun is the number of calls in one run of AllocsPerRun, which rounds down: many calls show a rare allocation too.
const callsPerRun = 64

// TestAllocations wants no allocation by a call without a delay, nor by one whose gap is over.
func TestAllocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := context.Context(nil)
		hooks := backoff.Hooks{Stepped: func(backoff.StepEvent) {}, Slept: func(context.Context, backoff.SleepEvent) {}}
		fast := backoff.Must(backoff.New(backoff.Config{Name: "x", Hooks: hooks}))
		slow := slow(t, backoff.Config{DownMultiplierThreshold: 1e6, Hooks: hooks}, time.Millisecond)
		for name, r := range map[string]*backoff.Responsive{"without a delay": fast, "with a delay": slow} {
			demandNone(t, name+": Wait and Done", waitAndDone(r, backoff.Success))
			demandNone(t, name+": Wait and Done, ignored", waitAndDone(r, backoff.Ignored))
			demandNone(t, name+": Do", func() { _ = r.Do(none, func(context.Context) error { return nil }) })
			demandNone(t, name+": Do of a value", func() {
				_, _ = backoff.Do(context.Background(), r, func(context.Context) (int, error) { return 1, nil })
			})
			demandNone(t, name+": Stats and Delay", func() { r.Stats(); r.Delay() })
		}
		if s := slow.Stats(); s.Slept != 0 || s.Delay != time.Millisecond {
			t.Errorf("got %+v want a delay and no waits", s)
		}
	})
}

func demandNone(t *testing.T, name string, call func()) {
	t.Helper()
	if got := testing.AllocsPerRun(100, func() {
		for range callsPerRun {
			time.Sleep(2 * time.Millisecond)
			call()
		}
	}); got != 0 {
		t.Errorf("%s, %d times: got %v allocations want none", name, callsPerRun, got)
	}
}

func waitAndDone(r *backoff.Responsive, o backoff.Outcome) func() {
	return func() {
		p, _ := r.Wait(context.Background())
		p.Finish(o)
	}
}
