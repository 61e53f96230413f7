package throttle_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestHooksAreToldEachMomentInOrder tells, for every way a call can go, which hooks are told what, and in which order.
func TestHooksAreToldEachMomentInOrder(t *testing.T) {
	rejectedAbove := func(t *testing.T, th *throttle.Throttle) {
		rejectMany(t, th, throttle.High, 300)
		rejectMany(t, th, throttle.Medium, 20)
	}
	rejected60 := func(t *testing.T, th *throttle.Throttle) { rejectMany(t, th, throttle.Medium, 60) }
	cases := []struct {
		name     string
		mode     throttle.Mode
		before   func(*testing.T, *throttle.Throttle)
		shed     bool // how the die falls
		end      error
		fallback throttle.Fallback
		want     []string
	}{
		{
			name: "accepted", end: nil,
			want: []string{"started medium at 0.00", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		{
			name: "accepted with an ordinary error", end: errPlain,
			want: []string{"started medium at 0.00", "fn", "finished medium accepted other after 3s: no such product"},
		},
		{
			name: "rejected", end: errBusy,
			want: []string{"started medium at 0.00", "fn", "finished medium rejected availability after 3s: " + errBusy.Error()},
		},
		{
			name: "rejected by a mark, which does not leave", end: throttle.RejectedError(errPlain),
			want: []string{"started medium at 0.00", "fn", "finished medium rejected other after 3s: no such product"},
		},
		{
			name: "ignored", end: context.Canceled,
			want: []string{"started medium at 0.00", "fn", "finished medium ignored canceled after 3s: context canceled"},
		},
		{
			name: "failed, served by the fallback", end: errBusy, fallback: fallsTo(nil),
			want: []string{
				"started medium at 0.00", "fn", "fallback", "fell back medium rejected: <nil>",
				"finished medium rejected availability after 3s: <nil>, fell back",
			},
		},
		{
			name: "failed, and the fallback too", end: errPlain, fallback: fallsTo(throttle.RejectedError(context.DeadlineExceeded)),
			want: []string{
				"started medium at 0.00", "fn", "fallback", "fell back medium accepted: context deadline exceeded",
				"finished medium accepted other after 3s: context deadline exceeded, fell back",
			},
		},
		{
			name: "accepted, so the fallback rests", end: nil, fallback: fallsTo(nil),
			want: []string{"started medium at 0.00", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		{
			name: "admitted by luck", before: rejected60, end: nil,
			want: []string{"started medium at 0.50", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		{
			name: "shed", before: rejected60, shed: true,
			want: []string{"shed medium at 0.50, own"},
		},
		{
			name: "shed for what was rejected above", before: rejectedAbove, shed: true,
			want: []string{"shed medium at 0.84, above"},
		},
		{
			name: "shed, served by the fallback", before: rejected60, shed: true, fallback: fallsTo(nil),
			want: []string{"shed medium at 0.50, own", "fallback", "fell back medium shed: <nil>"},
		},
		{
			name: "shed, and the fallback failed", before: rejected60, shed: true, fallback: fallsTo(errPlain),
			want: []string{"shed medium at 0.50, own", "fallback", "fell back medium shed: no such product"},
		},
		{
			name: "would have been shed", mode: throttle.Shadow, before: rejected60, shed: true, end: errBusy, fallback: fallsTo(nil),
			want: []string{
				"shed medium at 0.50, own, in shadow", "started medium at 0.50, in shadow", "fn", "fallback",
				"fell back medium rejected: <nil>", "finished medium rejected availability after 3s: <nil>, fell back",
			},
		},
		{
			name: "would have been shed for what was rejected above", mode: throttle.Shadow, before: rejectedAbove, shed: true,
			want: []string{
				"shed medium at 0.84, above, in shadow", "started medium at 0.84, in shadow", "fn",
				"finished medium accepted none after 3s: <nil>",
			},
		},
		{
			name: "would have been admitted", mode: throttle.Shadow, before: rejected60,
			want: []string{"started medium at 0.50", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		{
			name: "off", mode: throttle.Off, before: rejected60, shed: true,
			want: []string{"started medium at 0.00", "fn", "finished medium accepted none after 3s: <nil>"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				var fate die
				th := build(t, throttle.Config{Mode: c.mode, Hooks: d.hooks(), Rand: fate.throw})
				if c.before != nil {
					c.before(t, th)
				}
				d.tear()
				fate.sheds.Store(c.shed)
				_ = th.Do(context.WithValue(t.Context(), diaryKey{}, &d), throttle.Medium, func(context.Context) error {
					d.write("fn")
					time.Sleep(3 * time.Second)
					return c.end
				}, c.fallback)
				if got := d.tear(); !slices.Equal(got, c.want) {
					t.Errorf("told:\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
				}
			})
		})
	}
}

// diaryKey is where a context keeps the diary that a fallback writes to.
type diaryKey struct{}

// fallsTo returns a fallback that takes five seconds and ends with end.
func fallsTo(end error) throttle.Fallback {
	return func(ctx context.Context, _ error, _ bool) error {
		ctx.Value(diaryKey{}).(*diary).write("fallback")
		time.Sleep(5 * time.Second)
		return end
	}
}

func TestBothFormsAndBothPhasesTellTheSame(t *testing.T) {
	forms := map[string]func(context.Context, *throttle.Throttle, func()) error{
		"method": func(ctx context.Context, th *throttle.Throttle, work func()) error {
			return th.Do(ctx, throttle.Low, func(context.Context) error { work(); return errBusy })
		},
		"generic": func(ctx context.Context, th *throttle.Throttle, work func()) error {
			_, err := throttle.Do(ctx, th, throttle.Low, func(context.Context) (int, error) { work(); return 0, errBusy })
			return err
		},
		"two phases": func(ctx context.Context, th *throttle.Throttle, work func()) error {
			call, err := th.Admit(ctx, throttle.Low)
			if err == nil {
				work()
				call.Done(errBusy)
			}
			return err
		},
	}
	for name, do := range forms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				var fate die
				th := build(t, throttle.Config{Hooks: d.hooks(), Rand: fate.throw})
				rejectMany(t, th, throttle.Low, 180)
				d.tear()
				_ = do(t.Context(), th, func() { time.Sleep(2 * time.Second) })
				fate.sheds.Store(true)
				_ = do(t.Context(), th, func() { t.Error("the function of a shed call runs") })
				want := []string{
					"started low at 0.75", "finished low rejected availability after 2s: " + errBusy.Error(), "shed low at 0.75, own",
				}
				if got := d.tear(); !slices.Equal(got, want) {
					t.Errorf("told:\ngot  %q\nwant %q", got, want)
				}
			})
		})
	}
}

// TestMarksDoNotReachTheHooks: they are told of the errors themselves, as the caller gets them.
func TestMarksDoNotReachTheHooks(t *testing.T) {
	var told []error
	th := build(t, throttle.Config{Hooks: throttle.Hooks{
		FellBack: func(_ context.Context, e throttle.FallbackEvent) { told = append(told, e.Err) },
		Finished: func(_ context.Context, e throttle.FinishEvent) { told = append(told, e.Err) },
	}})
	_ = th.Do(t.Context(), throttle.High, returns(throttle.RejectedError(errPlain)))
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), func(context.Context, error, bool) error {
		return throttle.RejectedError(errPlain)
	})
	if want := []error{errPlain, errPlain, errPlain}; !slices.Equal(told, want) {
		t.Errorf("told: got %#v want %#v", told, want)
	}
}

func TestFinishTellsTheOutcomeItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for outcome, want := range map[throttle.Outcome]string{
			throttle.Accepted: "finished high accepted none after 4s: <nil>",
			throttle.Rejected: "finished high rejected none after 4s: <nil>",
			throttle.Ignored:  "finished high ignored none after 4s: <nil>",
			throttle.Shed:     "finished high ignored none after 4s: <nil>",
		} {
			var d diary
			th := build(t, throttle.Config{Hooks: d.hooks()})
			call, err := th.Admit(t.Context(), throttle.High)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Second)
			d.tear()
			call.Finish(outcome)
			if got := d.tear(); !slices.Equal(got, []string{want}) {
				t.Errorf("Finish(%v): got %q, want %q", outcome, got, want)
			}
		}
	})
}

func TestCallsThatAreNotMadeAreUntold(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var d diary
	th := build(t, throttle.Config{Hooks: d.hooks(), InvalidPriority: throttle.RejectPriority})
	d.tear()
	fallback := func(context.Context, error, bool) error { d.write("fallback"); return nil }
	for name, err := range map[string]error{
		"a context that is over":        th.Do(over, throttle.High, succeed, fallback),
		"no function":                   th.Do(t.Context(), throttle.High, nil, fallback),
		"a priority that was refused":   th.Do(t.Context(), 99, succeed, fallback),
		"no throttle":                   (*throttle.Throttle)(nil).Do(t.Context(), throttle.High, succeed, fallback),
		"two phases, a context is over": func() error { _, err := th.Admit(over, throttle.High); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	if got := d.tear(); len(got) > 0 {
		t.Errorf("told of calls that were not made: got %q, want nothing", got)
	}
	equal(t, "calls in flight", inFlight(th), 0)
}

// TestTheClockIsReadTwiceOnlyForFinished guards the price of a duration that nobody asks for.
func TestTheClockIsReadTwiceOnlyForFinished(t *testing.T) {
	for _, c := range []struct {
		name  string
		hooks throttle.Hooks
		want  int
	}{
		{"no hooks", throttle.Hooks{}, 1},
		{"Started alone", throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }}, 1},
		{"Finished", throttle.Hooks{Finished: func(context.Context, throttle.FinishEvent) {}}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := 0
			th := build(t, throttle.Config{Hooks: c.hooks, Now: func() time.Time { reads++; return newYear(2026) }})
			reads = 0
			if err := th.Do(t.Context(), throttle.High, succeed); err != nil {
				t.Fatal(err)
			}
			if reads != c.want {
				t.Errorf("readings of the clock per call: got %d, want %d", reads, c.want)
			}
		})
	}
}
