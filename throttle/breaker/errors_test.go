package breaker_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestShedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := agent(t, breaker.Config{BreakerTimeout: 10 * time.Second}), breaker.Key{ID: "k"}
		c := m.Circuit(k)
		fails(t, m, k, 10)
		sample(t, m)
		time.Sleep(4 * time.Second)
		var shed *breaker.ShedError
		if err := c.Do(t.Context(), succeeding); !errors.As(err, &shed) || !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("got %v", err)
		}
		if shed.Breaker != "deliveries" || shed.Key != k || shed.State != breaker.Open || shed.RetryAfter() != 6*time.Second || shed.Temporary() {
			t.Errorf("got %+v, retry after %v", shed, shed.RetryAfter())
		}
		time.Sleep(6 * time.Second)
		equals(t, shed.RetryAfter(), 0, "retry after")
		wants(t, c.CanExecute(t.Context()), breaker.ErrTooManyRequests, "half-open without probes")
	})
}

// TestWhatABreakerShedsIsShedEverywhere: an enclosing throttle or circuit ignores the call.
func TestWhatABreakerShedsIsShedEverywhere(t *testing.T) {
	reasons := []error{breaker.ErrOpen, breaker.ErrTooManyRequests, breaker.ErrDisabled, breaker.ErrStale}
	for i, reason := range reasons {
		err := fmt.Errorf("pay: %w", &breaker.ShedError{Breaker: "charges", Reason: reason})
		wants(t, err, throttle.ErrShed, "%v", err)
		for j, r := range reasons {
			equals(t, errors.Is(err, r), i == j, "%v: is %v", err, r)
		}
		equals(t, throttle.DefaultClassify(t.Context(), err), throttle.Ignored, "%v: a throttle", err)
		equals(t, throttle.FaultOf(err), throttle.FaultShed, "%v: the fault", err)
		equals(t, backoff.Classify(err), backoff.Ignored, "%v: a backoff", err)
	}
	for _, err := range []error{breaker.ErrManagerClosed, breaker.ErrNotLeading} {
		equals(t, errors.Is(err, throttle.ErrShed), false, "%v: is ErrShed, although no call was shed", err)
	}
}
