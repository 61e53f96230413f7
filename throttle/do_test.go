package throttle_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestACallWhoseContextIsOverIsNotMade(t *testing.T) {
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(io.EOF)
	late, cancelLate := context.WithTimeout(context.Background(), -time.Second)
	defer cancelLate()
	w := &witness{}
	for name, th := range map[string]*throttle.Throttle{
		"idle":     build(t, throttle.Config{Hooks: w.hooks()}),
		"shedding": shedding(t, throttle.Config{Hooks: w.hooks()}),
	} {
		for _, ctx := range []context.Context{canceled, late} {
			t.Run(name+", "+ctx.Err().Error(), func(t *testing.T) {
				before := th.Stats()
				w.tear()
				const outOfRange = 99

				err := th.Do(ctx, outOfRange, unwanted(t), unwantedFallback(t))
				equal(t, "Do", err, ctx.Err())
				_, err = throttle.Do(ctx, th, throttle.High, valued(1, nil), func(_ context.Context, err error, _ bool) (int, error) {
					return 2, unwantedFallback(t)(ctx, err, false)
				})
				equal(t, "Do[T]", err, ctx.Err())
				call, err := th.Admit(ctx, throttle.High)
				equal(t, "Admit", err, ctx.Err())
				equal(t, "Admit's Call", call, throttle.Call{})

				if after := th.Stats(); !reflect.DeepEqual(after, before) {
					t.Errorf("Stats: got %+v want %+v", after, before)
				}
				w.want(t)
			})
		}
	}
}

func TestCallsWithoutAFunctionAreRefused(t *testing.T) {
	th := build(t, throttle.Config{})
	_, generic := throttle.Do[int](t.Context(), th, throttle.High, nil)
	for form, err := range map[string]error{
		"Do": th.Do(t.Context(), throttle.High, nil, unwantedFallback(t)), "Do[T]": generic,
		"DoLocal": th.DoLocal(t.Context(), throttle.High, nil, unwantedFallback(t)),
	} {
		if err == nil || err.Error() != "throttle: nil function" || errors.Is(err, throttle.ErrShed) {
			t.Errorf("%s: got error %v want one about the function, and no shed", form, err)
		}
	}
	equal(t, "admitted calls", tier(th, throttle.High).Admitted, 0)
}

func TestANilOrZeroThrottleReturnsErrors(t *testing.T) {
	for name, th := range map[string]*throttle.Throttle{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			_, generic := throttle.Do(t.Context(), th, throttle.High, valued(1, nil))
			_, admit := th.Admit(t.Context(), throttle.High)
			_, admitLocal := th.AdmitLocal(t.Context(), throttle.High)
			for form, err := range map[string]error{
				"Do":    th.Do(t.Context(), throttle.High, unwanted(t), unwantedFallback(t)),
				"Do[T]": generic, "Admit": admit, "AdmitLocal": admitLocal, "Tune": th.Tune(throttle.Patch{}),
				"DoLocal":  th.DoLocal(t.Context(), throttle.High, unwanted(t), unwantedFallback(t)),
				"Override": th.Override(throttle.SourceFile, throttle.Patch{}),
			} {
				if err == nil || err.Error() != "throttle: nil or zero Throttle: make one with New" || errors.Is(err, throttle.ErrShed) {
					t.Errorf("%s: got error %v want one that names New, and no shed", form, err)
				}
			}
			equal(t, "Name", th.Name(), "")
			equal(t, "Priorities", th.Priorities(), 0)
			now, code := th.Tuning()
			equal(t, "Tuning", now, code)
			equal(t, "RejectionProbability", th.RejectionProbability(throttle.Low), 0)
			equal(t, "Close", th.Close(), nil)
			th.ReceiveLoad(throttle.LoadReport{})
			th.Exempt()
			_, says := th.LoadReport()
			equal(t, "LoadReport", says, false)
			equal(t, "TopTenants", th.TopTenants(1, true).Known, 0)
			equal(t, "Classify", th.Classify(t.Context(), context.DeadlineExceeded), throttle.Rejected)
			equal(t, "Stats is empty", reflect.DeepEqual(th.Stats(), throttle.Stats{}), true)
		})
	}
}

func TestANilContextIsTheBackground(t *testing.T) {
	th := build(t, throttle.Config{})
	var none context.Context
	err := th.Do(none, throttle.High, func(ctx context.Context) error {
		equal(t, "Do's context", ctx, context.Background())
		return nil
	})
	equal(t, "Do", err, nil)
	call, err := th.Admit(none, throttle.High)
	equal(t, "Admit", err, nil)
	equal(t, "Admit's context", call.Context(), context.Background())
	call.Done(nil)
	wantAdmitted(t, th, throttle.High, 2, throttle.Accepted, throttle.FaultNone)
}
