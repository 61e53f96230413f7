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

// counted returns what the counter has of a key.
func counted(t *testing.T, c *breaker.Counter, k breaker.Key) string {
	t.Helper()
	n, err := c.Poll(t.Context(), breaker.PollQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v failed, %v succeeded", n[k].Failures, n[k].Successes)
}

func TestHowCallsCount(t *testing.T) {
	errMine := errors.New("mine")
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
		{"marked", nil, throttle.RejectedError(throttle.ErrShed), failed},
		{"classified, accepted", classify, errMine, succeeded},
		{"classified, rejected", classify, errBoom, failed},
		{"classified, shed, which is no opinion", classify, context.DeadlineExceeded, failed},
		{"classified, shed by a throttle", classify, fmt.Errorf("inner: %w", throttle.ErrShed), failed},
		{"classified, nil", classify, nil, succeeded},
		{"classified, marked", classify, fmt.Errorf("late: %w", throttle.RejectedError(errMine)), failed},
		{"classified, no opinion, error", classify, errors.New("other"), failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			counter := breaker.NewCounter(time.Minute)
			m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter, Classify: tt.classify}))
			k := breaker.Key{ID: "k"}
			if err := m.Circuit(k).Run(t.Context(), func(context.Context) error { return tt.err }); !errors.Is(err, tt.err) {
				t.Errorf("Run returned %v, want %v", err, tt.err)
			}
			if got := counted(t, counter, k); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAPermitEndsOnce(t *testing.T) {
	counter := breaker.NewCounter(time.Minute)
	m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter}))
	k := breaker.Key{ID: "k"}
	for _, ends := range [][]func(breaker.Permit){
		{func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Done(errBoom) }, func(p breaker.Permit) { p.Ignore() }},
		{func(p breaker.Permit) { p.Ignore() }, func(p breaker.Permit) { p.Done(errBoom) }},
	} {
		p, err := m.Circuit(k).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.State() != breaker.Closed {
			t.Errorf("state %v", p.State())
		}
		for _, end := range ends {
			end(p)
		}
		if q, err := m.Circuit(k).Acquire(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			p.Done(errBoom) // the ticket may be q's by now
			q.Ignore()
		}
	}
	if got, want := counted(t, counter, k), "1 failed, 0 succeeded"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none breaker.Permit
	none.Done(errBoom)
	none.Ignore()
	if none.State() != breaker.Closed {
		t.Error("the zero permit has a state")
	}
}

func TestAPanicSaysNothing(t *testing.T) {
	counter := breaker.NewCounter(time.Minute)
	m := breaker.Must(breaker.New(breaker.Config{Name: "x", Counter: counter}))
	k := breaker.Key{ID: "k"}
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v", got)
			}
		}()
		_ = m.Circuit(k).Run(t.Context(), func(context.Context) error { panic("boom") })
	}()
	if got, want := counted(t, counter, k), "0 failed, 0 succeeded"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLateResults: a call that was admitted before its circuit changed tells of the circuit as it was.
func TestLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents, _ := fleet(t, 1, breaker.Config{BreakerTimeout: 10 * time.Second})
		m, k := agents[0], breaker.Key{ID: "k"}
		c := m.Circuit(k)
		late, err := c.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			_ = c.Run(t.Context(), failing)
		}
		sample(t, m)
		time.Sleep(11 * time.Second)
		late.Done(errBoom)
		if got := m.Stats().LateResults; got != 1 {
			t.Errorf("%d late results, want 1", got)
		}
		sample(t, m)
		if s := m.Status(k); s.State != breaker.HalfOpen || s.Failures != 0 {
			t.Errorf("%+v: want half-open, without failures", s)
		}
	})
}

func TestShedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents, _ := fleet(t, 1, breaker.Config{BreakerTimeout: 10 * time.Second})
		m, k := agents[0], breaker.Key{ID: "k"}
		c := m.Circuit(k)
		for range 10 {
			_ = c.Run(t.Context(), failing)
		}
		sample(t, m)
		time.Sleep(4 * time.Second)
		var shed *breaker.ShedError
		if err := c.Run(t.Context(), succeeding); !errors.As(err, &shed) || !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("got %v", err)
		}
		if shed.Breaker != "fleet" || shed.Key != k || shed.State != breaker.Open || shed.RetryAfter() != 6*time.Second || shed.Temporary() {
			t.Errorf("got %+v, retry after %v", shed, shed.RetryAfter())
		}
		time.Sleep(6 * time.Second)
		if got := shed.RetryAfter(); got != 0 {
			t.Errorf("retry after %v, want 0", got)
		}
		if err := c.CanExecute(t.Context()); !errors.Is(err, breaker.ErrTooManyRequests) {
			t.Errorf("half-open without probes: %v", err)
		}
	})
}
