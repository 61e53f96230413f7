package dependency_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

func TestReport(t *testing.T) {
	err := errors.New("unavailable")
	dependency.Report(t.Context(), err) // to no server
	outer := &dependency.Request{Context: t.Context()}
	inner := &dependency.Request{Context: context.WithValue(t.Context(), dependency.Key{}, outer)}
	dependency.Report(context.WithValue(inner.Context, dependency.Key{}, inner), err)
	if !inner.Failed() || !outer.Failed() {
		t.Errorf("got failures of the inner server %t and the outer one %t want both", inner.Failed(), outer.Failed())
	}
}

func TestRepeat(t *testing.T) {
	for err, want := range map[error]throttle.Fault{
		faults.Unavailable(0): throttle.FaultAvailability, faults.ResourceExhausted(): throttle.FaultQuota,
		context.DeadlineExceeded: throttle.FaultTimeout, context.Canceled: throttle.FaultCanceled, throttle.ErrShed: throttle.FaultShed,
		throttle.MarkRejected(errors.New("plain")): throttle.FaultAvailability,
	} {
		got := dependency.Repeat(err)
		if throttle.FaultOf(got) != want || throttle.DefaultClassify(t.Context(), got) != throttle.Ignored {
			t.Errorf("%v: got %v, %v want %v, ignored", err, got, throttle.FaultOf(got), want)
		}
	}
}
