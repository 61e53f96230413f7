package throttletest_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestServesBurstsOf100msWorthAtLeastOneCall(t *testing.T) {
	tests := []struct {
		capacity float64
		want     int
	}{{1000, 100}, {50, 5}, {10, 1}, {9, 1}, {0.01, 1}, {1e5, 10_000}}
	for _, tt := range tests {
		b, clock := newBackend(t, throttletest.BackendConfig{Capacity: tt.capacity, RejectionCost: 1e-9})
		for _, after := range []string{"new", "rested"} {
			if got := calls(t, b, tt.want+10); got != tt.want {
				t.Errorf("capacity %v, %s: %d calls served at once, want %d", tt.capacity, after, got, tt.want)
			}
			clock.Advance(time.Hour)
		}
	}
}

// TestServedUnderOverload compares the backend with the closed form: with capacity C, rejection cost r and load L,
// it serves (C - r*L) / (1 - r) calls per second.
func TestServedUnderOverload(t *testing.T) {
	const capacity = 1000
	for _, tt := range []struct{ load, cost, want float64 }{
		{500, 0.1, 500},
		{1000, 0.1, 1000},
		{5000, 0.1, (1000 - 500) / 0.9},
		{8000, 0.1, (1000 - 800) / 0.9},
		{10_000, 0.1, 0},
		{30_000, 0.1, 0},
		{2000, 0, (1000 - 200) / 0.9}, // the default cost
		{20_000, 0.001, (1000 - 20) / 0.999},
		{2000, 1, 0}, // a rejection is as dear as a call
	} {
		b, clock := newBackend(t, throttletest.BackendConfig{Capacity: capacity, RejectionCost: tt.cost})
		before := 0.0
		for i := range 2 * int(tt.load) {
			if i == int(tt.load) { // warm
				before = float64(b.Served())
			}
			clock.Advance(time.Duration(float64(time.Second) / tt.load))
			_ = b.Call(t.Context())
		}
		if got := float64(b.Served()) - before; math.Abs(got-tt.want) > 0.01*capacity {
			t.Errorf("load %v, rejection cost %v: got %v calls per second served, want %.0f", tt.load, tt.cost, got, tt.want)
		}
	}
}

// TestRejections come at once, and are availability failures.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Capacity: 0.1, Latency: time.Second})
		begun := time.Now()
		var none context.Context
		if err := b.Call(none); err != nil || time.Since(begun) != time.Second {
			t.Errorf("a served call: got error %v after %v want nil after 1s", err, time.Since(begun))
		}
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
			if got := throttle.DefaultClassify(t.Context(), err); got != throttle.Rejected {
				t.Errorf("%v: a throttle takes it for %v, want rejected", err, got)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("rejections took %v, want none", took)
		}
		b.SetOutage(false)
		time.Sleep(time.Minute)
		if calls(t, b, 1) != 1 {
			t.Error("not served after the outage")
		}
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
			served := calls(t, b, 1)
			if took := time.Since(begun); served != step.served || took != time.Duration(served)*time.Second || clock.Now() != before {
				t.Errorf("after %v: got %d served in %v of the bubble's time want %d", step.advance, served, took, step.served)
			}
		}
	})
}

func TestFailAnswersWhatWouldHaveBeenServed(t *testing.T) {
	b, _ := newBackend(t, throttletest.BackendConfig{Capacity: 20})
	errNotFound := errors.New("not found")
	b.Fail(errNotFound)
	if err := b.Call(t.Context()); !errors.Is(err, errNotFound) {
		t.Errorf("Call() = %v, want %v", err, errNotFound)
	}
	b.Fail(nil)
	if err := b.Call(t.Context()); err != nil {
		t.Errorf("Call() = %v, want nil", err)
	}
	b.Fail(errNotFound)
	if err := b.Call(t.Context()); !errors.Is(err, throttletest.ErrOverloaded) {
		t.Errorf("Call() = %v beyond the capacity, want %v", err, throttletest.ErrOverloaded)
	}
	want := throttletest.BackendStats{Served: 1, Failed: 1, Rejected: 1}
	if got := b.Stats(); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

func TestAContextThatIsOverCostsNothing(t *testing.T) {
	b, _ := newBackend(t, throttletest.BackendConfig{Capacity: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Call(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Call() = %v, want %v", err, context.Canceled)
	}
	if got := b.Stats(); got != (throttletest.BackendStats{}) {
		t.Errorf("Stats() = %+v, want none", got)
	}
	if calls(t, b, 1) != 1 {
		t.Error("the budget was spent on a call that was not made")
	}
}

func TestNowRunsUnderNoLock(t *testing.T) {
	var b *throttletest.Backend
	b, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: 1, Now: func() time.Time {
		if b != nil {
			b.Stats()
			b.SetOutage(false)
		}
		return time.Unix(0, 0)
	}})
	if err != nil {
		t.Fatal(err)
	}
	calls(t, b, 2)
	if err := b.SetCapacity(2); err != nil {
		t.Error(err)
	}
	if got := b.Stats().Calls(); got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

// TestCreatedOutsideABubbleAndUsedInside, and vice versa: the clocks of the two are years apart.
func TestCreatedOutsideABubbleAndUsedInside(t *testing.T) {
	outside := mustBackend(t, throttletest.BackendConfig{Capacity: 10})
	var inside *throttletest.Backend
	synctest.Test(t, func(t *testing.T) {
		if calls(t, outside, 1) != 1 {
			t.Error("made outside: not served inside")
		}
		inside = mustBackend(t, throttletest.BackendConfig{Capacity: 10})
		time.Sleep(time.Minute)
	})
	if calls(t, inside, 1) != 1 {
		t.Error("made inside: not served outside")
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		took    time.Duration
		want    error
	}{
		{"long before", time.Millisecond, time.Millisecond, context.DeadlineExceeded},
		{"just before", time.Second - 1, time.Second - 1, context.DeadlineExceeded},
		{"exactly with the latency", time.Second, time.Second, context.DeadlineExceeded},
		{"just after", time.Second + 1, time.Second, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // a race of two timers would show
				synctest.Test(t, func(t *testing.T) {
					b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
					defer cancel()
					if err := b.Call(ctx); !errors.Is(err, tt.want) || time.Since(start) != tt.took {
						t.Errorf("Call() = %v after %v, want %v after %v", err, time.Since(start), tt.want, tt.took)
					}
					want := throttletest.BackendStats{Canceled: 1}
					if tt.want == nil {
						want = throttletest.BackendStats{Served: 1}
					}
					if got := b.Stats(); got != want || got.Calls() != 1 {
						t.Errorf("Stats() = %+v, want %+v", got, want)
					}
				})
			}
		})
	}
}

func TestACallInFlightEndsAsItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := mustBackend(t, throttletest.BackendConfig{Latency: time.Second})
		start := time.Now()
		done := make(chan error)
		go func() { done <- b.Call(t.Context()) }()
		synctest.Wait()
		if got := b.Stats(); got != (throttletest.BackendStats{Active: 1}) || got.Calls() != 1 {
			t.Errorf("Stats() = %+v while the call is in flight, want it active", got)
		}
		b.SetOutage(true)
		b.Fail(errors.New("no"))
		if err := b.SetLatency(time.Hour); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil || time.Since(start) != time.Second {
			t.Errorf("Call() = %v after %v, want nil after 1s", err, time.Since(start))
		}
	})
}
