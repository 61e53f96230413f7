package throttle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// Classify agrees with what Do counts, and counts nothing.
func TestThrottle_Classify(t *testing.T) {
	odd := errors.New("odd")
	th := throttle.Must(throttle.New(throttle.Config{Name: "x", Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, odd) })}))
	for _, tt := range []struct {
		err  error
		want throttle.Outcome
	}{
		{nil, throttle.Accepted},
		{odd, throttle.Rejected},
		{errors.New("plain"), throttle.Accepted},
		{throttle.MarkRejected(errors.New("full")), throttle.Rejected},
		{context.Canceled, throttle.Ignored},
		{throttle.ErrShed, throttle.Ignored},
	} {
		if got := th.Classify(t.Context(), tt.err); got != tt.want {
			t.Errorf("%v: got %v want %v", tt.err, got, tt.want)
		}
	}
	if ended := th.Stats().Priorities[throttle.High].Ended; ended.Sum() != 0 {
		t.Errorf("got %d calls counted want none", ended.Sum())
	}
	if got := (*throttle.Throttle)(nil).Classify(t.Context(), context.DeadlineExceeded); got != throttle.Rejected {
		t.Errorf("nil Throttle: got %v want rejected", got)
	}
}
