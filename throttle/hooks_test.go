package throttle_test

import (
	"context"
	"fmt"
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
			name: "rejected by a mark, which does not leave", end: throttle.MarkRejected(errPlain),
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
			name: "failed, and the fallback too", end: errPlain, fallback: fallsTo(throttle.MarkRejected(context.DeadlineExceeded)),
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
			name: "would have been shed", mode: throttle.ModeShadow, before: rejected60, shed: true, end: errBusy, fallback: fallsTo(nil),
			want: []string{
				"shed medium at 0.50, own, in shadow", "started medium at 0.50, in shadow", "fn", "fallback",
				"fell back medium rejected: <nil>", "finished medium rejected availability after 3s: <nil>, fell back",
			},
		},
		{
			name: "would have been shed for what was rejected above", mode: throttle.ModeShadow, before: rejectedAbove, shed: true,
			want: []string{
				"shed medium at 0.84, above, in shadow", "started medium at 0.84, in shadow", "fn",
				"finished medium accepted none after 3s: <nil>",
			},
		},
		{
			name: "would have been admitted", mode: throttle.ModeShadow, before: rejected60,
			want: []string{"started medium at 0.50", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		{
			name: "off", mode: throttle.ModeOff, before: rejected60, shed: true,
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

// contextsSeen returns hooks that note the mark of every context they get, and whose Started returns what it is told to.
func contextsSeen(seen *[]string, started func(context.Context) context.Context) throttle.Hooks {
	see := func(who string, ctx context.Context) {
		if mark, ok := markOf(ctx).(string); ok {
			*seen = append(*seen, who+" "+mark)
		}
	}
	return throttle.Hooks{
		Shed: func(ctx context.Context, _ throttle.ShedEvent) { see("shed", ctx) },
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			see("started", ctx)
			return started(ctx)
		},
		Finished: func(ctx context.Context, _ throttle.FinishEvent) { see("finished", ctx) },
		FellBack: func(ctx context.Context, _ throttle.FallbackEvent) { see("fell back", ctx) },
	}
}

func TestWhoGetsTheContextOfStarted(t *testing.T) {
	noContext := func(context.Context) context.Context { return nil }
	cases := []struct {
		name    string
		mode    throttle.Mode
		shed    bool
		started func(context.Context) context.Context
		want    []string
	}{
		{
			name: "admitted", started: withMark,
			want: []string{"started caller", "fn span", "classifier span", "fallback span", "fell back span", "finished span"},
		},
		{
			name: "admitted, Started returns nil", started: noContext,
			want: []string{"started caller", "fn caller", "classifier caller", "fallback caller", "fell back caller", "finished caller"},
		},
		{
			name: "shed", shed: true, started: withMark,
			want: []string{"shed caller", "fallback caller", "fell back caller"},
		},
		{
			name: "would have been shed", mode: throttle.ModeShadow, shed: true, started: withMark,
			want: []string{
				"shed caller", "started caller", "fn span", "classifier span", "fallback span", "fell back span", "finished span",
			},
		},
	}
	forms := map[string]func(*throttle.Throttle, context.Context, func(context.Context) error, throttle.Fallback) error{
		"method": func(th *throttle.Throttle, ctx context.Context, fn func(context.Context) error, fallback throttle.Fallback) error {
			return th.Do(ctx, throttle.High, fn, fallback)
		},
		"generic": func(th *throttle.Throttle, ctx context.Context, fn func(context.Context) error, fallback throttle.Fallback) error {
			_, err := throttle.Do(ctx, th, throttle.High, func(ctx context.Context) (int, error) { return 0, fn(ctx) },
				func(ctx context.Context, err error, local bool) (int, error) { return 1, fallback(ctx, err, local) })
			return err
		},
	}
	for _, c := range cases {
		for form, do := range forms {
			t.Run(c.name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var seen []string
					var fate die
					see := func(who string, ctx context.Context) { seen = append(seen, who+" "+markOf(ctx).(string)) }
					th := build(t, throttle.Config{
						Mode: c.mode, Rand: fate.throw, Hooks: contextsSeen(&seen, c.started),
						Classify: func(ctx context.Context, _ error) (throttle.Outcome, bool) {
							if markOf(ctx) != nil {
								see("classifier", ctx)
							}
							return throttle.Rejected, true
						},
					})
					rejectMany(t, th, throttle.High, 60)
					seen = nil
					fate.sheds.Store(c.shed)
					err := do(th, context.WithValue(t.Context(), markKey{}, "caller"),
						func(ctx context.Context) error { see("fn", ctx); return errPlain },
						func(ctx context.Context, _ error, _ bool) error { see("fallback", ctx); return nil })
					if err != nil {
						t.Errorf("Do: got error %v want nil", err)
					}
					if !slices.Equal(seen, c.want) {
						t.Errorf("contexts:\ngot  %q\nwant %q", seen, c.want)
					}
				})
			})
		}
	}
}

// TestAPriorityPutIntoTheContextByStartedIsForCallsInside: the call itself has been decided about.
func TestAPriorityPutIntoTheContextByStartedIsForCallsInside(t *testing.T) {
	th := build(t, throttle.Config{Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return throttle.WithPriority(ctx, throttle.Low)
	}}})
	err := th.Do(t.Context(), throttle.High, func(ctx context.Context) error { return th.Do(ctx, throttle.High, succeed) })
	equal(t, "Do", err, nil)
	wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultNone)
	wantAdmitted(t, th, throttle.Low, 1, throttle.Accepted, throttle.FaultNone)
}

func TestDurationIsWithoutTheStartedHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got time.Duration
		th := build(t, throttle.Config{
			Hooks: throttle.Hooks{
				Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
					time.Sleep(5 * time.Second)
					return ctx
				},
				Finished: func(_ context.Context, e throttle.FinishEvent) { got = e.Duration },
			},
		})
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(3 * time.Second); return nil })
		equal(t, "Duration", got, 3*time.Second)
	})
}

func TestDurationIsWithoutTheClassifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got time.Duration
		th := build(t, throttle.Config{
			Classify: func(context.Context, error) (throttle.Outcome, bool) { time.Sleep(7 * time.Second); return 0, false },
			Hooks:    throttle.Hooks{Finished: func(_ context.Context, e throttle.FinishEvent) { got = e.Duration }},
		})
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(3 * time.Second); return errPlain })
		equal(t, "Duration", got, 3*time.Second)
	})
}

func TestEventsAsText(t *testing.T) {
	th := build(t, throttle.Config{Name: "orders"})
	for want, e := range map[string]fmt.Stringer{
		"orders: admitted high call probability=0.1 shadow":                         throttle.StartEvent{Throttle: th, Probability: 0.1, Shadow: true},
		"orders: shed low call probability=0.5 cause=above":                         throttle.ShedEvent{Throttle: th, Priority: throttle.Low, Probability: 0.5, Cause: throttle.CauseAbove},
		"orders: rejected low call fault=timeout duration=1s fallback":              throttle.FinishEvent{Throttle: th, Priority: throttle.Low, Outcome: throttle.Rejected, Fault: throttle.FaultTimeout, Duration: time.Second, FellBack: true},
		"orders: rejected low call fault=quota duration=1s overloaded shadow":       throttle.FinishEvent{Throttle: th, Priority: throttle.Low, Outcome: throttle.Rejected, Fault: throttle.FaultQuota, Duration: time.Second, Overloaded: true, Shadow: true},
		"orders: fallback high call outcome=shed error=throttle: function panicked": throttle.FallbackEvent{Throttle: th, Outcome: throttle.Shed, Err: throttle.ErrPanicked},
		": shed high call probability=0 cause=own":                                  throttle.ShedEvent{},
	} {
		equal(t, fmt.Sprintf("%T", e), e.String(), want)
	}
}
