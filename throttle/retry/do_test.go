package retry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestDo_RetriesRejectedCallsOnly(t *testing.T) {
	missing := faults.WithNotFound(errors.New("no such order"))
	for name, tt := range map[string]struct {
		errs   []error
		calls  int
		want   error
		denied map[retry.Reason]uint64
		ended  []uint64 // Stats.Calls
	}{
		"accepted":            {calls: 1, ended: []uint64{0, 1, 0, 0}},
		"accepted, an error":  {errs: []error{missing}, calls: 1, want: missing, ended: []uint64{0, 1, 0, 0}},
		"rejected once":       {errs: []error{rejected()}, calls: 2, ended: []uint64{0, 0, 1, 0}},
		"rejected twice":      {errs: []error{rejected(), faults.WithUnavailable(errBusy, 0)}, calls: 3, ended: []uint64{0, 0, 0, 1}},
		"rejected always":     {errs: []error{rejected(), rejected(), rejected(), rejected()}, calls: 3, want: errBusy, ended: []uint64{0, 0, 0, 1}, denied: map[retry.Reason]uint64{retry.ReasonAttempts: 1}},
		"overloaded":          {errs: []error{throttle.MarkOverloaded(errBusy)}, calls: 2, ended: []uint64{0, 0, 1, 0}},
		"timed out":           {errs: []error{context.DeadlineExceeded}, calls: 2, ended: []uint64{0, 0, 1, 0}},
		"shed inside":         {errs: []error{throttle.ErrShed}, calls: 1, want: throttle.ErrShed, ended: []uint64{0, 1, 0, 0}, denied: map[retry.Reason]uint64{retry.ReasonShed: 1}},
		"then an error":       {errs: []error{rejected(), missing}, calls: 2, want: missing, ended: []uint64{0, 0, 1, 0}},
		"cancelled elsewhere": {errs: []error{context.Canceled}, calls: 1, want: context.Canceled, ended: []uint64{0, 1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, alone := range []bool{false, true} {
					c := retry.Config{Name: "orders", Budget: generous()}
					r := newRetrier(t, c)
					if alone {
						r = throttle.Must(retry.New(c))
					}
					calls := 0
					err := r.Do(t.Context(), throttle.Medium, answers(&calls, tt.errs...))
					if calls != tt.calls || !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
						t.Errorf("alone %v: got %d calls, error %v want %d, %v", alone, calls, err, tt.calls, tt.want)
					}
					if got := r.Stats(); !slices.Equal(got.Calls, tt.ended) || !maps.Equal(denials(r), tt.denied) || got.Sent != uint64(tt.calls-1) {
						t.Errorf("alone %v: got %+v, denied %v want calls %v, denied %v", alone, got, denials(r), tt.ended, tt.denied)
					}
				}
			})
		})
	}
}

func TestDo_RetriesPassTheThrottleOnePriorityLower(t *testing.T) {
	for first, second := range map[throttle.Priority]throttle.Priority{
		throttle.High: throttle.Important, throttle.Important: throttle.Medium, throttle.Medium: throttle.Low, throttle.Low: throttle.Low,
	} {
		for _, inContext := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var seen []throttle.Priority
				th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }, Hooks: throttle.Hooks{
					Finished: func(_ context.Context, e throttle.FinishEvent) { seen = append(seen, e.Priority) },
				}}))
				r, ctx, p := newRetrier(t, retry.Config{Throttle: th, Budget: generous()}), t.Context(), first
				if inContext {
					ctx, p = throttle.WithPriority(ctx, first), throttle.Medium
				}
				var nested throttle.Priority
				_ = r.Do(ctx, p, func(ctx context.Context) error {
					nested = throttle.PriorityFromContext(ctx, first)
					return rejected()
				})
				// The second retry is not lower than the first.
				if want := []throttle.Priority{first, second, second}; !slices.Equal(seen, want) || nested != second {
					t.Errorf("%v, in the context %v: got %v, nested %v want %v", first, inContext, seen, nested, want)
				}
			})
		}
	}
}

func TestDo_ALocalShedIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draw := 1.0
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return draw }}))
		r := newRetrier(t, retry.Config{Throttle: th, Budget: generous()})
		for range 100 {
			_ = r.Do(retry.WithoutRetries(t.Context()), throttle.Low, func(context.Context) error { return rejected() })
		}
		time.Sleep(time.Second) // the decision of the next call is new
		before := r.Stats()

		calls := 0
		err := r.Do(t.Context(), throttle.Medium, func(context.Context) error {
			calls++
			draw = 0 // the throttle sheds the retry
			return rejected()
		})
		if calls != 1 || err != errBusy { //nolint:errorlint // the error of the attempt, not that of the shed
			t.Errorf("got %d calls, error %v want 1, busy", calls, err)
		}
		err = r.Do(t.Context(), throttle.Low, answers(&calls))
		if calls != 1 || !errors.Is(err, throttle.ErrShed) {
			t.Errorf("got %d calls, error %v want a shed call", calls, err)
		}
		s := r.Stats()
		if s.Sent != before.Sent || s.Denied.Count(retry.ReasonShed) != 2 || s.Calls[0] != 1 || s.Calls[1] != before.Calls[1]+1 {
			t.Errorf("got %+v want no retry, two sheds", s)
		}
	})
}

func TestDo_Retryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal, flaky := faults.WithUnavailable(errors.New("fatal"), 0), errors.New("flaky")
		asked := 0
		r := newRetrier(t, retry.Config{Budget: generous(), Retryable: func(_ context.Context, err error) (bool, bool) {
			asked++
			return errors.Is(err, flaky), errors.Is(err, flaky) || errors.Is(err, fatal)
		}})
		for _, tt := range []struct {
			err   error
			calls int
		}{{fatal, 1}, {flaky, 3}, {rejected(), 3}, {errors.New("not found"), 1}, {throttle.ErrShed, 1}} {
			calls := 0
			_ = r.Do(t.Context(), throttle.Medium, answers(&calls, tt.err, tt.err, tt.err))
			if calls != tt.calls {
				t.Errorf("%v: got %d calls want %d", tt.err, calls, tt.calls)
			}
		}
		// An attempt that is retried is not accepted work: it adds nothing to the budget.
		if s := r.Stats(); s.Limit != 1e6+1 || asked != 1+3+3+1 {
			t.Errorf("limit %v, asked %d times want that of one accepted call, and 8", s.Limit, asked)
		}
	})
}

func TestBadInput(t *testing.T) {
	r := newRetrier(t, retry.Config{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	calls, nilContext := 0, context.Context(nil)
	value := func(context.Context) (int, error) { calls++; return 0, nil }
	hedge := func(ctx context.Context, r *retry.Retrier, after time.Duration, fn func(context.Context) (int, error)) error {
		_, err := retry.Hedge(ctx, r, throttle.High, after, fn)
		return err
	}
	_, withValue := retry.Do[int](t.Context(), r, throttle.High, nil)
	for name, err := range map[string]error{
		"nil Retrier":           (*retry.Retrier)(nil).Do(t.Context(), throttle.High, answers(&calls)),
		"zero Retrier":          (&retry.Retrier{}).Do(t.Context(), throttle.High, answers(&calls)),
		"nil function":          r.Do(t.Context(), throttle.High, nil),
		"nil function, a value": withValue,
		"context that is ended": r.Do(ended, throttle.High, answers(&calls)),
		"ended, alone":          throttle.Must(retry.New(retry.Config{Name: "x"})).Do(ended, throttle.High, answers(&calls)),
		"hedge, nil Retrier":    hedge(t.Context(), nil, 1, value),
		"hedge, zero Retrier":   hedge(t.Context(), &retry.Retrier{}, 1, value),
		"hedge, nil function":   hedge(t.Context(), r, 1, nil),
		"hedge, no delay":       hedge(t.Context(), r, 0, value),
		"hedge, ended":          hedge(ended, r, 1, value),
	} {
		if err == nil || calls != 0 {
			t.Errorf("%s: got %v, %d calls want an error", name, err, calls)
		}
	}
	if s := r.Stats(); fmt.Sprint(s.Calls) != "[0 0 0 0]" || s.Denied.Sum() != 0 {
		t.Errorf("got %+v want nothing counted", s)
	}
	if err := errors.Join(r.Do(nilContext, throttle.High, answers(&calls)), hedge(nilContext, r, time.Hour, value)); err != nil || calls != 2 {
		t.Errorf("nil context: got %v, %d calls", err, calls)
	}
	zero := (&retry.Retrier{}).Stats()
	if zero.Name != "" || zero.Denied.Count(retry.ReasonOff+1) != 0 || (*retry.Retrier)(nil).Name() != "" || (*retry.Retrier)(nil).Close() != nil {
		t.Error("a nil or zero Retrier has a state")
	}
}
