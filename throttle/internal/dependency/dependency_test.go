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

func TestReportingRejections(t *testing.T) {
	if dependency.ReportingRejections(nil) != nil {
		t.Error("got a Classifier for nil want nil")
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	classify := dependency.ReportingRejections(throttle.First(throttle.RejectIf(is(faults.NotFound)), throttle.OverloadIf(is(faults.Unimplemented))))
	for err, want := range map[error]bool{faults.NotFound: true, faults.Unimplemented: true, faults.PermissionDenied: false} {
		around := &server{}
		_, ok := classify(context.WithValue(t.Context(), dependency.Key{}, around), err)
		if reported := len(around.got) == 1; ok != want || reported != want {
			t.Errorf("%v: got an opinion %t, reported %t want %t", err, ok, reported, want)
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
