package throttletest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// TestRejections come at once, and are availability failures.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Capacity: 0.1, Latency: time.Second})
		begun := time.Now()
		var none context.Context
		equal(t, "error of a served call", b.Call(none), nil)
		equal(t, "time of a served call", time.Since(begun), time.Second)
		begun = time.Now()
		overloaded := b.Call(t.Context())
		b.SetOutage(true)
		for err, want := range map[error][2]error{
			overloaded:          {throttletest.ErrOverloaded, throttletest.ErrOutage},
			b.Call(t.Context()): {throttletest.ErrOutage, throttletest.ErrOverloaded},
		} {
			if !errors.Is(err, want[0]) || errors.Is(err, want[1]) || !faults.IsUnavailable(err) {
				t.Errorf("got %v want an availability failure that is %v", err, want[0])
			}
			equal(t, "outcome for a throttle", throttle.DefaultClassify(t.Context(), err), throttle.Rejected)
		}
		equal(t, "time of rejections", time.Since(begun), 0)
		b.SetOutage(false)
		time.Sleep(time.Minute)
		equal(t, "served after the outage", calls(t, b, 1), 1)
	})
}

// TestClockOfABackend has an overdraft that must be paid, a clock that goes back, and a latency that it does not show.
func TestClockOfABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, clock := newBackend(t, throttletest.BackendConfig{Capacity: 1000, RejectionCost: 1, Latency: time.Second})
		calls(t, b, 1000)
		for _, step := range []struct {
			advance time.Duration
			served  int
		}{{99 * time.Millisecond, 0}, {-time.Hour, 0}, {time.Hour, 0}, {110 * time.Millisecond, 1}} {
			clock.Advance(step.advance)
			before, begun := clock.Now(), time.Now()
			equal(t, "served after "+step.advance.String(), calls(t, b, 1), step.served)
			equal(t, "time of the bubble", time.Since(begun), time.Duration(step.served)*time.Second)
			equal(t, "time of the backend", clock.Now(), before)
		}
	})
}

func TestFailAnswersWhatWouldHaveBeenServed(t *testing.T) {
	b, _ := newBackend(t, throttletest.BackendConfig{Capacity: 20})
	errNotFound := errors.New("not found")
	b.Fail(errNotFound)
	equal(t, "error", b.Call(t.Context()), errNotFound)
	b.Fail(nil)
	equal(t, "error of a served call", b.Call(t.Context()), nil)
	b.Fail(errNotFound)
	equal(t, "overloaded beyond the capacity", errors.Is(b.Call(t.Context()), throttletest.ErrOverloaded), true)
	equal(t, "Stats", b.Stats(), throttletest.BackendStats{Served: 1, Failed: 1, Rejected: 1})
}

func TestAContextThatIsOverCostsNothing(t *testing.T) {
	b, _ := newBackend(t, throttletest.BackendConfig{Capacity: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	equal(t, "error", b.Call(ctx), context.Canceled)
	equal(t, "Stats", b.Stats(), throttletest.BackendStats{})
	equal(t, "served after it", calls(t, b, 1), 1)
}

func TestNowRunsUnderNoLock(t *testing.T) {
	var b *throttletest.Backend
	b = mustBackend(t, throttletest.BackendConfig{Capacity: 1, Now: func() time.Time {
		if b != nil {
			b.Stats()
			b.SetOutage(false)
		}
		return time.Unix(0, 0)
	}})
	calls(t, b, 2)
	equal(t, "SetCapacity", b.SetCapacity(2), nil)
	equal(t, "calls", b.Stats().Calls(), 2)
}

// TestCreatedOutsideABubbleAndUsedInside, and vice versa: the clocks of the two are years apart.
func TestCreatedOutsideABubbleAndUsedInside(t *testing.T) {
	outside := mustBackend(t, throttletest.BackendConfig{Capacity: 10})
	var inside *throttletest.Backend
	synctest.Test(t, func(t *testing.T) {
		equal(t, "made outside, served inside", calls(t, outside, 1), 1)
		inside = mustBackend(t, throttletest.BackendConfig{Capacity: 10})
		time.Sleep(time.Minute)
	})
	equal(t, "made inside, served outside", calls(t, inside, 1), 1)
}

func TestCallEndsWithItsContext(t *testing.T) {
	canceled, served := throttletest.BackendStats{Canceled: 1}, throttletest.BackendStats{Served: 1}
	for name, tt := range map[string]struct {
		timeout, took time.Duration
		err           error
		stats         throttletest.BackendStats
	}{
		"long before":              {time.Millisecond, time.Millisecond, context.DeadlineExceeded, canceled},
		"just before":              {time.Second - 1, time.Second - 1, context.DeadlineExceeded, canceled},
		"exactly with the latency": {time.Second, time.Second, context.DeadlineExceeded, canceled},
		"just after":               {time.Second + 1, time.Second, nil, served},
	} {
		for range 20 { // a race of two timers would show
			synctest.Test(t, func(t *testing.T) {
				b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				equal(t, name+": error", b.Call(ctx), tt.err)
				equal(t, name+": time", time.Since(start), tt.took)
				equal(t, name+": Stats", b.Stats(), tt.stats)
				equal(t, name+": calls", b.Stats().Calls(), 1)
			})
		}
	}
}

// detached is a context that never ends, but still has the deadline of its parent.
type detached struct{ context.Context }

func (detached) Done() <-chan struct{} { return nil }
func (detached) Err() error            { return nil }

func TestCallOfADetachedContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		equal(t, "error", b.Call(detached{ctx}), nil)
	})
}

func TestACallInFlightEndsAsItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
		start := time.Now()
		done := make(chan error)
		go func() { done <- b.Call(t.Context()) }()
		synctest.Wait()
		equal(t, "Stats while the call is in flight", b.Stats(), throttletest.BackendStats{Active: 1})
		equal(t, "calls", b.Stats().Calls(), 1)
		b.SetOutage(true)
		b.Fail(errors.New("no"))
		equal(t, "SetLatency", b.SetLatency(time.Hour), nil)
		equal(t, "error", <-done, nil)
		equal(t, "time", time.Since(start), time.Second)
	})
}
