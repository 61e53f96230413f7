package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// timesOf makes a call whose attempts are all rejected with err, and returns when they were made.
func timesOf(ctx context.Context, r *retry.Retrier, err error) (times []time.Duration) {
	begun := time.Now()
	_ = r.Do(ctx, throttle.Medium, func(context.Context) error {
		times = append(times, time.Since(begun))
		return err
	})
	return times
}

func TestRun_Delays(t *testing.T) {
	ms := time.Millisecond
	for name, tt := range map[string]struct {
		delay retry.Delay
		err   error
		want  []time.Duration
	}{
		"doubles":                    {retry.Delay{Initial: 40 * ms}, rejected(), []time.Duration{0, 20 * ms, 60 * ms, 140 * ms}},
		"at most the longest":        {retry.Delay{Initial: 40 * ms, Longest: 60 * ms}, rejected(), []time.Duration{0, 20 * ms, 50 * ms, 80 * ms}},
		"and that of the server":     {retry.Delay{Initial: 60 * ms, Longest: 60 * ms}, faults.Unavailable(60 * ms), []time.Duration{0, 90 * ms, 180 * ms, 270 * ms}},
		"after that of the server":   {retry.Delay{Initial: 40 * ms}, faults.Unavailable(time.Second), []time.Duration{0, 1020 * ms, 2060 * ms, 3140 * ms}},
		"a negative one":             {retry.Delay{Initial: 40 * ms}, faults.Unavailable(-time.Second), []time.Duration{0, 20 * ms, 60 * ms, 140 * ms}},
		"a longer one of the server": {retry.Delay{Initial: 40 * ms, Longest: time.Second}, faults.Unavailable(1001 * ms), []time.Duration{0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRetrier(t, retry.Config{Attempts: 4, Budget: generous(), Delay: tt.delay})
			if got := timesOf(t.Context(), r, tt.err); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %v want %v", name, got, tt.want)
			}
		})
	}
}

func TestRun_Deadline(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		left, attempt time.Duration // of the deadline; Delay.Attempt
		calls         int
	}{{10 * ms, 0, 1}, {19 * ms, 0, 1}, {21 * ms, 0, 2}, {50 * ms, 0, 2}, {61 * ms, 0, 3}, {61 * ms, 20 * ms, 2}, {30 * ms, 20 * ms, 1}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.left)
			defer cancel()
			r := newRetrier(t, retry.Config{Budget: generous(), Delay: retry.Delay{Initial: 40 * ms, Attempt: tt.attempt}})
			if got := timesOf(ctx, r, rejected()); len(got) != tt.calls || ctx.Err() != nil {
				t.Errorf("%v left: got attempts at %v, context %v want %d, and no wait in vain", tt.left, got, ctx.Err(), tt.calls)
			}
			want := map[retry.Reason]uint64{retry.ReasonDeadline: 1}
			if tt.calls == 3 {
				want = map[retry.Reason]uint64{retry.ReasonAttempts: 1}
			}
			if got := denials(r); !maps.Equal(got, want) {
				t.Errorf("%v left: denied %v want %v", tt.left, got, want)
			}
		})
	}
}

// The goroutine that waits ends with the context: synctest fails if one is left.
func TestRun_CancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRetrier(t, retry.Config{Budget: generous(), Delay: retry.Delay{Initial: 10 * time.Second}})
		time.AfterFunc(time.Second, cancel)
		begun, calls := time.Now(), 0
		err := r.Do(ctx, throttle.Medium, answers(&calls, rejected()))
		if err != errBusy || calls != 1 || time.Since(begun) != time.Second { //nolint:errorlint // unchanged
			t.Errorf("got %v, %d calls after %v want busy after 1s", err, calls, time.Since(begun))
		}
		if s := r.Stats(); s.Denied.Count(retry.ReasonCanceled) != 1 || s.Calls[1] != 1 || s.Sent != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestRun_Denials(t *testing.T) {
	for name, tt := range map[string]struct {
		ctx    context.Context
		result retry.Result
		want   retry.Reason
	}{
		"pushback":       {t.Context(), retry.Result{Err: rejected(), Stop: true}, retry.ReasonPushback},
		"longer delay":   {t.Context(), retry.Result{Err: rejected(), Delay: time.Minute}, retry.ReasonPushback},
		"once":           {t.Context(), retry.Result{Err: rejected(), Once: true}, retry.ReasonOnce},
		"WithoutRetries": {retry.WithoutRetries(t.Context()), retry.Result{Err: rejected()}, retry.ReasonOnce},
		"shed":           {t.Context(), retry.Result{Err: throttle.ErrShed}, retry.ReasonShed},
	} {
		r := newRetrier(t, retry.Config{Budget: generous()})
		left := r.Stats().Left
		run := r.Begin(tt.ctx, throttle.High)
		call := throttle.Must(run.Admit())
		call.Done(rejected())
		if run.Again(tt.result) || !maps.Equal(denials(r), map[retry.Reason]uint64{tt.want: 1}) || r.Stats().Left != left {
			t.Errorf("%s: denied %v want %v, and the budget unchanged", name, denials(r), tt.want)
		}
	}
}

func TestRun_ContextOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }, Hooks: throttle.Hooks{
			Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
				return context.WithValue(ctx, key{}, retry.FromContext(ctx).Number) // as a span
			},
		}}))
		for name, r := range map[string]*retry.Retrier{
			"throttle": newRetrier(t, retry.Config{Throttle: th, Budget: generous()}),
			"alone":    throttle.Must(retry.New(retry.Config{Name: "x", Budget: generous()})),
		} {
			var numbers []int
			var before []any
			_ = r.Do(t.Context(), throttle.Medium, func(ctx context.Context) error {
				numbers = append(numbers, retry.FromContext(ctx).Number)
				if previous := retry.FromContext(ctx).Previous; previous != nil {
					before = append(before, previous.Value(key{}))
				}
				return rejected()
			})
			want := []any{1, 2}
			if name == "alone" {
				want = []any{nil, nil}
			}
			if !slices.Equal(numbers, []int{1, 2, 3}) || !slices.Equal(before, want) {
				t.Errorf("%s: attempts %v, before them %v want 1, 2, 3 and %v", name, numbers, before, want)
			}
		}
	})
}

func TestRun_AdmitReportsAContextThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRetrier(t, retry.Config{Budget: generous()})
		run := r.Begin(ctx, throttle.Medium)
		call := throttle.Must(run.Admit())
		call.Done(rejected())
		if !run.Again(retry.Result{Err: rejected()}) || run.Attempt() != 2 || run.Priority() != throttle.Low {
			t.Fatalf("attempt %d, priority %v want 2, low", run.Attempt(), run.Priority())
		}
		cancel()
		if _, err := run.Admit(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := denials(r); !maps.Equal(got, map[retry.Reason]uint64{retry.ReasonCanceled: 1}) {
			t.Errorf("denied %v", got)
		}
	})
}

// The owner of a Run does not get a call whose Retried hook does not return, so Admit must end the call.
func TestRun_AdmitEndsTheCallOfAHookThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders"}))
		r := newRetrier(t, retry.Config{Throttle: th, Budget: generous(), Hooks: retry.Hooks{
			Retried: func(context.Context, retry.SentEvent) { panic("boom") },
		}})
		run := r.Begin(t.Context(), throttle.Medium)
		call := throttle.Must(run.Admit())
		call.Done(rejected())
		if !run.Again(retry.Result{Err: rejected()}) {
			t.Fatal("got no retry")
		}
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic of the hook did not reach the caller")
				}
			}()
			_, _ = run.Admit()
		}()
		got := th.Stats().Priorities[throttle.Low]
		if got.InFlight != 0 || got.Ended.Count(throttle.Ignored, throttle.FaultPanic) != 1 {
			t.Errorf("%d calls in flight, ended %v want none, and one that panicked", got.InFlight, slices.Collect(got.Ended.All()))
		}
	})
}

// Calls of a nil or zero Retrier return an error, also those of a Run. A nil context is the background.
func TestRun_BadInput(t *testing.T) {
	for name, r := range map[string]*retry.Retrier{"nil": nil, "zero": {}} {
		run := r.Begin(t.Context(), throttle.Medium)
		if _, err := run.Admit(); err == nil || !strings.Contains(err.Error(), "make one with New") {
			t.Errorf("%s Retrier: got error %v want one that says how to make one", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var none context.Context
		run := newRetrier(t, retry.Config{Budget: generous()}).Begin(none, throttle.Medium)
		call := throttle.Must(run.Admit())
		call.Done(rejected())
		if !run.Again(retry.Result{Err: rejected()}) || run.Priority() != throttle.Low {
			t.Errorf("a nil context: got attempt %d want a retry", run.Attempt())
		}
	})
}

func TestDenials_MarshalJSON(t *testing.T) {
	text, err := json.Marshal(retry.Stats{})
	if want := `"Denied":{"attempts":0,"budget":0,`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v want %s", text, err, want)
	}
}
