package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestOutcome(t *testing.T) {
	for o, want := range map[backoff.Outcome]string{
		backoff.Ignored: "ignored 0s", backoff.Success: "success 0s", backoff.Throttled: "throttled 0s",
		backoff.ThrottledFor(1): "throttled 1ns", backoff.ThrottledFor(-1): "throttled 0s", -3: "outcome(-3) 0s",
	} {
		equals(t, fmt.Sprint(o, " ", o.RetryAfter()), want, "%d", int64(o))
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want backoff.Outcome
	}{
		{nil, backoff.Success},
		{errors.New("ordinary"), backoff.Success},
		{faults.NotFound, backoff.Success},
		{faults.Unavailable(0), backoff.Throttled},
		{faults.Unavailable(3 * time.Second), backoff.ThrottledFor(3 * time.Second)},
		{faults.Unavailable(-3 * time.Second), backoff.Throttled},
		{fmt.Errorf("put: %w", faults.WithUnavailable(errors.New("x"), time.Second)), backoff.ThrottledFor(time.Second)},
		{faults.ResourceExhausted(), backoff.Throttled},
		{context.DeadlineExceeded, backoff.Throttled},
		{throttle.MarkOverloaded(errors.New("full")), backoff.Throttled},
		{(*faults.AvailabilityFailure)(nil), backoff.Throttled},
		{errors.Join((*faults.QuotaFailure)(nil), errors.New("x")), backoff.Throttled},
		{context.Canceled, backoff.Ignored},
		{throttle.ErrShed, backoff.Ignored},
		{fmt.Errorf("x: %w", throttle.ErrShed), backoff.Ignored},
		{bucket.ErrDenied, backoff.Ignored},
		{errors.Join(bucket.ErrDenied, faults.Unavailable(time.Second)), backoff.Ignored},
	} {
		if got := backoff.Classify(tt.err); got != tt.want {
			t.Errorf("Classify(%v): got %v (%v) want %v (%v)", tt.err, got, got.RetryAfter(), tt.want, tt.want.RetryAfter())
		}
	}
}
