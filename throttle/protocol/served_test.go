package protocol_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

func begin(ctx context.Context) *protocol.Served {
	s := &protocol.Served{}
	s.Begin(ctx)
	return s
}

func TestServed_Outcome(t *testing.T) {
	outer := begin(t.Context())
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	inner := begin(ctx)
	rejection := faults.Unavailable(0)
	protocol.Report(inner, context.Canceled) // the handler has cancelled one of its calls
	if err := inner.Outcome(rejection); !errors.Is(err, rejection) {
		t.Errorf("after a cancelled call of a request that goes on: got %v want it unchanged", err)
	}
	for _, err := range []error{nil, faults.NotFound} {
		protocol.Report(inner, err)
	}
	if err := inner.Outcome(rejection); !errors.Is(err, rejection) {
		t.Errorf("rejection without a failed call: got %v want it unchanged", err)
	}
	protocol.Report(inner, context.DeadlineExceeded)
	protocol.Report(inner, rejection) // only the first failure counts
	err := inner.Outcome(rejection)
	if throttle.DefaultClassify(ctx, err) != throttle.Ignored || throttle.FaultOf(err) != throttle.FaultTimeout {
		t.Errorf("rejection that repeats a timeout: got %v (%v) want an ignored timeout", err, throttle.FaultOf(err))
	}
	if err := inner.Outcome(faults.NotFound); !errors.Is(err, faults.NotFound) {
		t.Errorf("ordinary answer: got %v want it unchanged", err)
	}
	if err := outer.Outcome(rejection); throttle.FaultOf(err) != throttle.FaultTimeout {
		t.Errorf("outer server: got %v want a timeout: it hears of each failure", err)
	}
	if err := inner.Outcome(throttle.ErrShed); !errors.Is(err, throttle.ErrShed) {
		t.Errorf("shed: got %v want it unchanged", err)
	}
	cancel()
	if err := inner.Outcome(nil); throttle.DefaultClassify(ctx, err) != throttle.Ignored || throttle.FaultOf(err) != throttle.FaultCanceled {
		t.Errorf("disconnected after a failed call: got %v (%v) want an ignored cancellation", err, throttle.FaultOf(err))
	}
}

func TestReporting(t *testing.T) {
	if protocol.Reporting(nil) != nil {
		t.Error("got a Classifier for nil want nil")
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	classify := protocol.Reporting(throttle.First(throttle.RejectIf(is(faults.NotFound)), throttle.OverloadIf(is(faults.Unimplemented))))
	for err, want := range map[error]bool{faults.NotFound: true, faults.Unimplemented: true, faults.PermissionDenied: false} {
		server := begin(t.Context())
		_, ok := classify(server, err)
		reported := throttle.DefaultClassify(server, server.Outcome(faults.Unavailable(0))) == throttle.Ignored
		if ok != want || reported != want {
			t.Errorf("%v: got an opinion %t, reported %t want %t", err, ok, reported, want)
		}
	}
}

func TestServed_Outcome_abandoned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := begin(ctx)
	if err := s.Outcome(nil); err != nil || s.Late() {
		t.Errorf("answered: got %v, late %t want nil, false", err, s.Late())
	}
	cancel()
	for own, text := range map[error]string{nil: "context canceled", faults.NotFound: "context canceled: " + faults.NotFound.Error()} {
		err := s.Outcome(own)
		if !errors.Is(err, context.Canceled) || errors.Is(err, faults.NotFound) || !protocol.IsDisconnected(err) || err.Error() != text {
			t.Errorf("disconnected, answer %v: got %q want %q", own, err, text)
		}
	}
	canceled := begin(ctx)
	protocol.Report(canceled, context.Canceled)
	if err := canceled.Outcome(nil); throttle.DefaultClassify(ctx, err) != throttle.Ignored || protocol.IsDisconnected(err) {
		t.Errorf("cancelled call of a cancelled request: got %v want the failure of a dependency", err)
	}
	past, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	late := begin(past)
	if err := late.Outcome(nil); !errors.Is(err, context.DeadlineExceeded) || protocol.IsDisconnected(err) || !late.Late() {
		t.Errorf("late: got %v, late %t want a passed deadline", err, late.Late())
	}
}

func TestServed_Outcome_deadline(t *testing.T) {
	const none = time.Duration(0)
	for name, c := range map[string]struct {
		timeout, cancel, after time.Duration // of the caller, from the beginning
		want                   error
	}{
		"no deadline":              {none, none, time.Hour, nil},
		"no deadline, cancelled":   {none, time.Second, time.Second, context.Canceled},
		"before":                   {time.Second, none, 999 * time.Millisecond, nil},
		"after":                    {time.Second, none, time.Second, context.DeadlineExceeded},
		"cancelled long before":    {time.Second, 974 * time.Millisecond, 974 * time.Millisecond, context.Canceled},
		"cancelled shortly before": {time.Second, 976 * time.Millisecond, 976 * time.Millisecond, context.DeadlineExceeded},
		"cancelled, ended later":   {time.Second, time.Millisecond, 2 * time.Second, context.DeadlineExceeded},
		"short, first quarters":    {40 * time.Millisecond, 29 * time.Millisecond, 29 * time.Millisecond, context.Canceled},
		"short, last quarter":      {40 * time.Millisecond, 31 * time.Millisecond, 31 * time.Millisecond, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.timeout)
				defer cancel()
			}
			var served protocol.Served
			served.Begin(ctx)
			if c.cancel > 0 {
				time.Sleep(c.cancel)
				cancel()
			}
			time.Sleep(c.after - c.cancel)
			if got := served.Outcome(nil); !errors.Is(got, c.want) {
				t.Errorf("%s: got %v want %v", name, got, c.want)
			}
		})
	}
}
