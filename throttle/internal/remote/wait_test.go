package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitIsLongerIfTheProcessIsBusy checks how often a timer fires again whose caller comes later than
// it was due.
func TestWaitIsLongerIfTheProcessIsBusy(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		late     time.Duration // each time
		deadline time.Duration // of the caller
		want     []time.Duration
	}{
		"in time":          {0, time.Hour, []time.Duration{40 * ms}},
		"a little late":    {9 * ms, time.Hour, []time.Duration{49 * ms}},
		"late":             {20 * ms, time.Hour, []time.Duration{60 * ms, 100 * ms, 140 * ms, 180 * ms}},
		"very late":        {70 * ms, time.Hour, []time.Duration{110 * ms, 230 * ms}},
		"for ever":         {200 * ms, time.Hour, []time.Duration{240 * ms}},
		"near a deadline":  {20 * ms, 70 * ms, []time.Duration{60 * ms, 88 * ms}},
		"after a deadline": {20 * ms, 60 * ms, []time.Duration{60 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				begun := time.Now()
				w := NewWait(40 * ms)
				defer w.Stop()
				for i, want := range tt.want {
					time.Sleep(time.Until(w.due) + tt.late)
					<-w.C
					over := w.Over(ctx)
					if got := time.Since(begun); got != want || over != (i == len(tt.want)-1) {
						t.Fatalf("firing %d: over is %t after %v, want %d firings, this one after %v", i+1, over, got, len(tt.want), want)
					}
				}
			})
		})
	}
}

// busyContext is the context of a caller that gets no processor for a time: when it begins to wait,
// and its call is in flight.
type busyContext struct {
	context.Context

	uses atomic.Int64
}

func (c *busyContext) Done() <-chan struct{} {
	if c.uses.Add(1) == 3 { // context.WithTimeout makes two uses, for the call
		time.Sleep(callTimeout + callTimeout*3/5)
	}
	return c.Context.Done()
}

// TestGuardOfABusyProcess checks that a caller uses an answer that is late because of its own process,
// and that the service has not failed if there is none. On a calm machine it leaves at the timeout,
// which ends the call.
func TestGuardOfABusyProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		busy   bool
		answer time.Duration
		waits  time.Duration
		rests  bool
	}{
		"calm, in time":                   {false, callTimeout - 1, callTimeout - 1, false},
		"calm, no answer":                 {false, callTimeout + 1, callTimeout, true},
		"busy, answered before it looks":  {true, callTimeout * 3 / 2, callTimeout * 8 / 5, false},
		"busy, answered after it looks":   {true, callTimeout * 2, callTimeout * 2, false},
		"busy, and the service is silent": {true, time.Hour, callTimeout * 11 / 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := testRules()
				rules.Failures = 1
				g := NewGuard(rules)
				ctx := t.Context()
				if tt.busy {
					ctx = &busyContext{Context: ctx}
				}
				begun := time.Now()
				ended := make(chan time.Duration, 1)
				_, err := Ask(ctx, g, func(ctx context.Context) (int, error) {
					select {
					case <-time.After(tt.answer):
						return 0, nil
					case <-ctx.Done():
						ended <- time.Since(begun)
						return 0, ctx.Err()
					}
				}, nil)
				waited, answered := time.Since(begun), tt.answer <= tt.waits
				if waited != tt.waits || (err == nil) != answered || !answered && !errors.Is(err, ErrNoAnswer) {
					t.Errorf("got %v after %v, want an answer: %t, after %v", err, waited, answered, tt.waits)
				}
				if !answered && <-ended != waited {
					t.Error("the call goes on after its caller has left")
				}
				equal(t, "resting", g.Resting(), tt.rests)
			})
		})
	}
}
