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

// teapot is a user's own type for shed calls.
type teapot struct{ code int }

func (e *teapot) Error() string { return fmt.Sprint("teapot ", e.code) }

// TestTheErrorOfAShedCall wraps Config.ShedErr, if there is one.
func TestTheErrorOfAShedCall(t *testing.T) {
	mine := &teapot{418}
	for name, given := range map[string]error{"none": nil, "bare": mine, "wrapped": fmt.Errorf("busy: %w", mine)} {
		t.Run(name, func(t *testing.T) {
			th := shedding(t, throttle.Config{Name: "tea", ShedErr: given})
			err := refusalOf(t, th)
			equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
			equal(t, "errors.Is(wrapped, ErrShed)", errors.Is(fmt.Errorf("load: %w", err), throttle.ErrShed), true)
			equal(t, "errors.Is(err, io.EOF)", errors.Is(err, io.EOF), false)
			equal(t, "outcome for an outer throttle", throttle.DefaultClassify(context.Background(), err), throttle.Ignored)
			equal(t, "the next shed call has the same", refusalOf(t, th), err)
			var refusal *throttle.ShedError
			if !errors.As(err, &refusal) {
				t.Fatalf("errors.As(%v, *ShedError): got false want true", err)
			}
			equal(t, "ShedError", *refusal, throttle.ShedError{Throttle: "tea", Priority: throttle.High})
			if given == nil {
				equal(t, "message", err.Error(), "throttle: tea shed a call of high priority")
				return
			}
			equal(t, "message", err.Error(), given.Error())
			equal(t, "errors.Is(err, given)", errors.Is(err, given), true)
			var own *teapot
			equal(t, "errors.As finds my type", errors.As(err, &own) && own == mine, true)
		})
	}
}
