package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// refusalOf returns the error of a shed call.
func refusalOf(t *testing.T, th *throttle.Throttle) error {
	t.Helper()
	err := th.Do(context.Background(), throttle.High, unwanted(t))
	if err == nil {
		t.Fatal("got no error of a shed call")
	}
	return err
}

func TestTheErrorOfAShedCall(t *testing.T) {
	th := shedding(t, throttle.Config{Name: "recommendations"})
	err := refusalOf(t, th)
	equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
	equal(t, "errors.Is(wrapped, ErrShed)", errors.Is(fmt.Errorf("load: %w", err), throttle.ErrShed), true)
	equal(t, "errors.Is(err, io.EOF)", errors.Is(err, io.EOF), false)
	var refusal *throttle.ShedError
	if !errors.As(err, &refusal) {
		t.Fatalf("errors.As(%v, *ShedError): got false want true", err)
	}
	equal(t, "ShedError", *refusal, throttle.ShedError{Throttle: "recommendations", Priority: throttle.High})
	equal(t, "message", err.Error(), "throttle: recommendations shed a call of high priority")
	equal(t, "the next shed call has the same", refusalOf(t, th), err)
}

func TestTheErrorOfAShedCallNamesItsPriority(t *testing.T) {
	th := build(t, throttle.Config{Name: "db", Priorities: 6, Rand: unlucky})
	for p := range throttle.Priority(6) {
		overload(t, th, p)
		err := th.Do(context.Background(), p, unwanted(t))
		var refusal *throttle.ShedError
		if !errors.As(err, &refusal) {
			t.Fatalf("errors.As(%v, *ShedError): got false want true", err)
		}
		equal(t, "priority", refusal.Priority, p)
		equal(t, "message", err.Error(), "throttle: db shed a call of "+p.String()+" priority")
	}
}

// teapot is a user's own type for shed calls.
type teapot struct{ code int }

func (e *teapot) Error() string { return fmt.Sprint("teapot ", e.code) }

func TestAShedErrOfOnesOwnIsWrapped(t *testing.T) {
	mine := &teapot{418}
	for name, given := range map[string]error{"bare": mine, "wrapped": fmt.Errorf("busy: %w", mine)} {
		t.Run(name, func(t *testing.T) {
			th := shedding(t, throttle.Config{Name: "tea", ShedErr: given})
			err := refusalOf(t, th)
			equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
			equal(t, "errors.Is(err, given)", errors.Is(err, given), true)
			equal(t, "message", err.Error(), given.Error())
			var own *teapot
			equal(t, "errors.As finds my type", errors.As(err, &own) && own == mine, true)
			var refusal *throttle.ShedError
			if !errors.As(err, &refusal) {
				t.Fatalf("errors.As(%v, *ShedError): got false want true", err)
			}
			equal(t, "ShedError", *refusal, throttle.ShedError{Throttle: "tea", Priority: throttle.High})
			equal(t, "outcome for an outer throttle", throttle.DefaultClassify(context.Background(), err), throttle.Ignored)
		})
	}
}

func TestErrShedIsNotWhatABackendSays(t *testing.T) {
	th := build(t, throttle.Config{})
	for name, err := range map[string]error{"busy": errBusy, "marked": throttle.MarkRejected(errPlain), "plain": errPlain} {
		got := th.Do(context.Background(), throttle.High, returns(err))
		equal(t, name+": errors.Is(err, ErrShed)", errors.Is(got, throttle.ErrShed), false)
	}
}

func TestMarkRejected(t *testing.T) {
	equal(t, "MarkRejected(nil)", throttle.MarkRejected(nil), nil)
	wrapped := fmt.Errorf("read: %w", &teapot{1})
	marked := throttle.MarkRejected(wrapped)
	equal(t, "message", marked.Error(), wrapped.Error())
	equal(t, "errors.Is(marked, what was marked)", errors.Is(marked, wrapped), true)
	var inside *teapot
	equal(t, "errors.As finds what is inside", errors.As(marked, &inside), true)
	equal(t, "errors.Unwrap", errors.Unwrap(marked), wrapped)
}

func TestErrorsSayWhereTheyComeFrom(t *testing.T) {
	equal(t, "ErrShed", throttle.ErrShed.Error(), "throttle: call shed")
	equal(t, "ErrPanicked", throttle.ErrPanicked.Error(), "throttle: function panicked")
}
