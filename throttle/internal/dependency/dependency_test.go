package dependency_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

func TestRepeat(t *testing.T) {
	for err, want := range map[error]throttle.Fault{
		faults.Unavailable(0): throttle.FaultAvailability, faults.ResourceExhausted(): throttle.FaultQuota,
		context.DeadlineExceeded: throttle.FaultTimeout, context.Canceled: throttle.FaultCanceled, throttle.ErrShed: throttle.FaultShed,
		throttle.MarkRejected(errors.New("plain")): throttle.FaultAvailability,
		throttle.MarkRejected(throttle.ErrShed):    throttle.FaultShed,
	} {
		got := dependency.Repeat(err)
		if throttle.FaultOf(got) != want || throttle.DefaultClassify(t.Context(), got) != throttle.Ignored {
			t.Errorf("%v: got %v, %v want %v, ignored", err, got, throttle.FaultOf(got), want)
		}
	}
}
