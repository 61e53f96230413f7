package dependency_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

type server struct{ got []error }

func (s *server) DependencyFailed(err error) { s.got = append(s.got, err) }

func TestReport(t *testing.T) {
	err := errors.New("unavailable")
	dependency.Report(t.Context(), err) // to no server
	outer, inner := &server{}, &server{}
	ctx := context.WithValue(t.Context(), dependency.Key{}, outer)
	dependency.Report(context.WithValue(ctx, dependency.Key{}, inner), err)
	if len(inner.got) != 1 || !errors.Is(inner.got[0], err) {
		t.Errorf("inner server: got %v want one report of %v", inner.got, err)
	}
	if len(outer.got) != 0 {
		t.Errorf("outer server: got %v want no report: the inner server decides", outer.got)
	}
}

func TestContext(t *testing.T) {
	outer := &server{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), dependency.Key{}, outer))
	defer cancel()
	inner := &dependency.Context{Context: ctx}
	rejection := faults.Unavailable(0)
	dependency.ReportAnswer(inner, context.Canceled) // the handler has cancelled one of its calls
	if inner.Failed() {
		t.Error("after a cancelled call of a request that goes on: got a failure want none")
	}
	if err := inner.Outcome(rejection); !errors.Is(err, rejection) {
		t.Errorf("rejection without a failure: got %v want it unchanged", err)
	}
	for _, err := range []error{nil, faults.NotFound} {
		dependency.ReportAnswer(inner, err)
	}
	dependency.ReportAnswer(inner, context.DeadlineExceeded)
	dependency.ReportAnswer(inner, rejection) // only the first failure counts
	err := inner.Outcome(rejection)
	if throttle.DefaultClassify(ctx, err) != throttle.Ignored || throttle.FaultOf(err) != throttle.FaultTimeout {
		t.Errorf("repeated: got %v (%v) want an ignored timeout", err, throttle.FaultOf(err))
	}
	if err := inner.Outcome(faults.NotFound); !errors.Is(err, faults.NotFound) {
		t.Errorf("ordinary answer: got %v want it unchanged", err)
	}
	if len(outer.got) != 3 {
		t.Errorf("outer server: got %d reports want 3: a cancellation, a timeout, a rejection", len(outer.got))
	}
	cancel()
	canceled := &dependency.Context{Context: ctx}
	if dependency.ReportAnswer(canceled, context.Canceled); !canceled.Failed() {
		t.Error("cancelled call of a cancelled request: got no failure want one")
	}
}

func TestReportingRejections(t *testing.T) {
	if dependency.ReportingRejections(nil) != nil {
		t.Error("got a Classifier for nil want nil")
	}
	classify := dependency.ReportingRejections(throttle.RejectIf(func(err error) bool { return errors.Is(err, faults.NotFound) }))
	for err, want := range map[error]bool{faults.NotFound: true, faults.PermissionDenied: false} {
		ctx := &dependency.Context{Context: t.Context()}
		if _, ok := classify(ctx, err); ok != want || ctx.Failed() != want {
			t.Errorf("%v: got an opinion %t, reported %t want %t", err, ok, ctx.Failed(), want)
		}
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
