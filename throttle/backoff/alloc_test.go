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

// TestAllocations wants no allocation by a call without a delay.
func TestAllocations(t *testing.T) {
	ctx, none := context.Background(), context.Context(nil)
	bare := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	observed := backoff.Must(backoff.New(backoff.Config{Name: "x", Hooks: backoff.Hooks{
		Stepped: func(backoff.StepEvent) {}, Slept: func(context.Context, backoff.SleepEvent) {},
	}}))
	f := func(context.Context) (int, error) { return 1, nil }
	g := func(context.Context) error { return nil }
	for _, tt := range []struct {
		name string
		call func()
	}{
		{"Wait and Done", waitAndDone(bare, backoff.Success)},
		{"Wait and Done, ignored", waitAndDone(bare, backoff.Ignored)},
		{"Wait and Done, with hooks", waitAndDone(observed, backoff.Success)},
		{"Do", func() { _, _ = backoff.Do(ctx, bare, f) }},
		{"Do, the method", func() { _ = bare.Do(ctx, g) }},
		{"Do, nil context", func() { _ = bare.Do(none, g) }},
		{"Stats", func() { bare.Stats() }},
		{"Delay", func() { bare.Delay() }},
	} {
		demandNone(t, tt.name, tt.call)
	}
}

// TestAllocationsWithADelay wants no allocation by a call whose gap is over.
func TestAllocationsWithADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, DownMultiplierThreshold: 1e6,
			Hooks: backoff.Hooks{Stepped: func(backoff.StepEvent) {}, Slept: func(context.Context, backoff.SleepEvent) {}},
		}))
		wait(t, r).Finish(backoff.Throttled)
		f := func(context.Context) (int, error) { return 1, nil }
		gap := func(call func()) func() {
			return func() {
				time.Sleep(2 * time.Millisecond)
				call()
			}
		}
		demandNone(t, "nothing", gap(func() {}))
		demandNone(t, "Wait and Done", gap(waitAndDone(r, backoff.Success)))
		demandNone(t, "Wait and Done, ignored", gap(waitAndDone(r, backoff.Ignored)))
		demandNone(t, "Do", gap(func() { _, _ = backoff.Do(context.Background(), r, f) }))
		if s := r.Stats(); s.Slept != 0 || s.Delay != time.Millisecond || s.Successes < 2*100*callsPerRun {
			t.Errorf("got %+v want a delay and no waits", s)
		}
	})
}

// demandNone wants no allocation.
func demandNone(t *testing.T, name string, call func()) {
	t.Helper()
	if got := testing.AllocsPerRun(100, func() {
		for range callsPerRun {
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
