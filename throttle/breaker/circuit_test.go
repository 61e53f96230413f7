package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// calls are the two ways to make a call. Each returns what the function returns and 7, or no 7 and the error.
func calls() map[string]func(context.Context, *breaker.Circuit, func(context.Context) error) (int, error) {
	return map[string]func(context.Context, *breaker.Circuit, func(context.Context) error) (int, error){
		"Run": func(ctx context.Context, c *breaker.Circuit, fn func(context.Context) error) (int, error) {
			n := 0
			if fn == nil {
				return n, c.Do(ctx, nil)
			}
			return n, c.Do(ctx, func(ctx context.Context) error { n = 7; return fn(ctx) })
		},
		"Do": func(ctx context.Context, c *breaker.Circuit, fn func(context.Context) error) (int, error) {
			if fn == nil {
				return breaker.Do[int](ctx, c, nil)
			}
			return breaker.Do(ctx, c, func(ctx context.Context) (int, error) { return 7, fn(ctx) })
		},
	}
}

// TestCallsEndAsTheirFunctionDoes makes one that succeeds, one that fails, and one that panics, and one when the circuit is disabled.
func TestCallsEndAsTheirFunctionDoes(t *testing.T) {
	for name, call := range calls() {
		t.Run(name, func(t *testing.T) {
			counter := breaker.NewCounter(time.Minute)
			m := agent(t, breaker.Config{Counter: counter})
			k := breaker.Key{ID: "k"}
			c := m.Circuit(k)
			for _, want := range []error{nil, errBoom} {
				n, err := call(t.Context(), c, func(context.Context) error { return want })
				if n != 7 || !errors.Is(err, want) {
					t.Errorf("got %d and %v want 7 and %v", n, err, want)
				}
			}
			func() {
				defer func() { _ = recover() }()
				_, _ = call(t.Context(), c, func(context.Context) error { panic("boom") })
				t.Error("got no panic, want it to go on up")
			}()
			wantCounted(t, counter, k, "1 failed, 1 succeeded")
			must(t, m.Disable(t.Context(), k))
			if n, err := call(t.Context(), c, succeeding); n != 0 || !errors.Is(err, breaker.ErrDisabled) {
				t.Errorf("disabled: got %d and %v want 0 and ErrDisabled", n, err)
			}
		})
	}
}

// TestAContextThatIsOverCountsNothing: neither a success nor a failure, neither an admitted call nor one that was shed.
func TestAContextThatIsOverCountsNothing(t *testing.T) {
	cause := errors.New("the caller has left")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, call := range calls() {
		for _, disabled := range []bool{false, true} {
			counter := breaker.NewCounter(time.Minute)
			m := agent(t, breaker.Config{Counter: counter, Hooks: breaker.Hooks{Shed: func(context.Context, breaker.ShedEvent) {
				t.Errorf("%s: Hooks.Shed was called without a decision", name)
			}}})
			k := breaker.Key{ID: "k"}
			if disabled {
				must(t, m.Disable(t.Context(), k))
			}
			if n, err := call(over, m.Circuit(k), succeeding); n != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, breaker.ErrDisabled) {
				t.Errorf("%s: got %d and %v want 0 and the error of the context", name, n, err)
			}
			wantNoCalls(t, m)
			wantCounted(t, counter, k, "0 failed, 0 succeeded")
		}
	}
}

func wantNoCalls(t *testing.T, m *breaker.Manager) {
	t.Helper()
	equals(t, m.Stats().Calls, [breaker.Disabled + 1]breaker.CallStats{}, "calls")
}

// TestANilFunctionIsAnError, whatever the context.
func TestANilFunctionIsAnError(t *testing.T) {
	m := agent(t, breaker.Config{})
	for name, call := range calls() {
		if n, err := call(t.Context(), m.Circuit(breaker.Key{ID: "k"}), nil); n != 0 || err == nil {
			t.Errorf("%s: got %d and %v want an error", name, n, err)
		}
	}
	wantNoCalls(t, m)
}

func TestAPermitEndsOnce(t *testing.T) {
	counter := breaker.NewCounter(time.Minute)
	m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter}))
	k := breaker.Key{ID: "k"}
	for _, ends := range [][]func(breaker.Permit){
		{func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Finish(throttle.Ignored) }},
		{func(p breaker.Permit) { p.Finish(throttle.Ignored) }, func(p breaker.Permit) { p.Done(errBoom) }},
	} {
		p, err := m.Circuit(k).Acquire(t.Context())
		must(t, err)
		equals(t, p.State(), breaker.Closed, "state")
		for _, end := range ends {
			end(p)
		}
		if q, err := m.Circuit(k).Acquire(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			p.Done(errBoom) // the ticket may be q's by now
			q.Finish(throttle.Ignored)
		}
	}
	wantCounted(t, counter, k, "1 failed, 0 succeeded")
	var none breaker.Permit
	none.Done(errBoom)
	none.Finish(throttle.Ignored)
	equals(t, none.State(), breaker.Closed, "the state of the zero permit")
}

// TestLateResults: the result of a call that was admitted before its circuit changed does not count.
func TestLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := agent(t, breaker.Config{BreakerTimeout: 10 * time.Second}), breaker.Key{ID: "k"}
		c := m.Circuit(k)
		late, err := c.Acquire(t.Context())
		must(t, err)
		fails(t, m, k, 10)
		sample(t, m)
		time.Sleep(11 * time.Second)
		late.Done(errBoom)
		equals(t, m.Stats().LateResults, 1, "late results")
		sample(t, m)
		if s := m.Status(k); s.State != breaker.HalfOpen || s.Failures != 0 {
			t.Errorf("%+v: want half-open, without failures", s)
		}
	})
}

// TestShadowCountsProbesOnly: what ended badly while the circuit was open is no result of a probe.
func TestShadowCountsProbesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := agent(t, breaker.Config{BreakerTimeout: 10 * time.Second, Mode: throttle.ModeShadow}), breaker.Key{ID: "k"}
		c := m.Circuit(k)
		fails(t, m, k, 10)
		sample(t, m)
		fails(t, m, k, 20)
		slow, err := c.Acquire(t.Context())
		must(t, err)
		equals(t, slow.State(), breaker.Open, "after failures")
		time.Sleep(11 * time.Second)
		slow.Done(errBoom)
		sample(t, m)
		equals(t, m.Status(k).State, breaker.HalfOpen, "before the first probe")
		for range 10 {
			must(t, c.Do(t.Context(), succeeding))
		}
		sample(t, m)
		equals(t, m.Status(k).State, breaker.Closed, "after probes that succeeded")
	})
}

func TestHowCallsCount(t *testing.T) {
	errMine, errFull := errors.New("mine"), errors.New("full")
	classify := func(_ context.Context, err error) (throttle.Outcome, bool) {
		switch {
		case err == nil, throttle.DefaultClassify(t.Context(), err) == throttle.Rejected && !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("Classify was asked about %v, which is decided", err)
			return throttle.Ignored, true
		case errors.Is(err, throttle.ErrShed):
			return throttle.Rejected, true
		case errors.Is(err, errMine):
			return throttle.Accepted, true
		case errors.Is(err, errBoom):
			return throttle.Rejected, true
		case errors.Is(err, errFull), errors.Is(err, context.Canceled):
			return throttle.Overloaded, true
		case errors.Is(err, context.DeadlineExceeded):
			return throttle.Shed, true
		}
		return 0, false
	}
	const failed, succeeded, neither = "1 failed, 0 succeeded", "0 failed, 1 succeeded", "0 failed, 0 succeeded"
	tests := []struct {
		name     string
		classify throttle.Classifier
		err      error
		want     string
	}{
		{"nil", nil, nil, succeeded},
		{"error", nil, errBoom, failed},
		{"deadline", nil, context.DeadlineExceeded, failed},
		{"cancelled", nil, fmt.Errorf("late: %w", context.Canceled), neither},
		{"shed by a throttle", nil, throttle.ErrShed, neither},
		{"shed by a breaker", nil, fmt.Errorf("inner: %w", &breaker.ShedError{Reason: breaker.ErrOpen}), neither},
		{"panicked", nil, throttle.ErrPanicked, neither},
		{"cancelled, but too late", nil, errors.Join(context.Canceled, context.DeadlineExceeded), failed},
		{"marked", nil, throttle.MarkRejected(throttle.ErrShed), failed},
		{"marked as overloaded", nil, throttle.MarkOverloaded(throttle.ErrShed), failed},
		{"classified, accepted", classify, errMine, succeeded},
		{"classified, rejected", classify, errBoom, failed},
		{"classified, overloaded", classify, errFull, failed},
		{"classified, overloaded, though cancelled", classify, context.Canceled, failed},
		{"classified, shed, which is no opinion", classify, context.DeadlineExceeded, failed},
		{"classified, shed by a throttle", classify, fmt.Errorf("inner: %w", throttle.ErrShed), failed},
		{"classified, nil", classify, nil, succeeded},
		{"classified, marked", classify, fmt.Errorf("late: %w", throttle.MarkRejected(errMine)), failed},
		{"classified, no opinion, error", classify, errors.New("other"), failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			counter := breaker.NewCounter(time.Minute)
			m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter, Classify: tt.classify}))
			k := breaker.Key{ID: "k"}
			wants(t, m.Circuit(k).Do(t.Context(), func(context.Context) error { return tt.err }), tt.err, "Do")
			wantCounted(t, counter, k, tt.want)
		})
	}
	for outcome, want := range map[throttle.Outcome]string{
		throttle.Accepted: succeeded, throttle.Rejected: failed, throttle.Overloaded: failed, throttle.Ignored: neither, throttle.Shed: neither,
	} {
		counter, k := breaker.NewCounter(time.Minute), breaker.Key{ID: outcome.String()}
		p, err := agent(t, breaker.Config{Counter: counter}).Circuit(k).Acquire(t.Context())
		must(t, err)
		p.Finish(outcome)
		wantCounted(t, counter, k, want)
	}
}
