package throttle_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

// markKey is where a context keeps the mark that a test puts into it.
type markKey struct{}

func markOf(ctx context.Context) any { return ctx.Value(markKey{}) }

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

func withMark(ctx context.Context) context.Context { return context.WithValue(ctx, markKey{}, "span") }

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
			name: "would have been shed", mode: throttle.Shadow, shed: true, started: withMark,
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

func TestACallHasTheContextOfStarted(t *testing.T) {
	for name, c := range map[string]struct {
		started func(context.Context) context.Context
		want    string
	}{
		"a context": {withMark, "span"},
		"nil":       {func(context.Context) context.Context { return nil }, "caller"},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			th := build(t, throttle.Config{Hooks: contextsSeen(&seen, c.started)})
			call, err := th.Admit(context.WithValue(t.Context(), markKey{}, "caller"), throttle.High)
			equal(t, "Admit", err, nil)
			equal(t, "mark of Call.Context", markOf(call.Context()), any(c.want))
			call.Done(nil)
			if want := []string{"started caller", "finished " + c.want}; !slices.Equal(seen, want) {
				t.Errorf("contexts: got %q want %q", seen, want)
			}
		})
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
