package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

// moments is a call, and what the hooks and its functions receive, in order. The calls before it have made the
// probability 0.5, or 0.84 for rejections above.
type moments struct {
	mode     throttle.Mode
	before   func(*testing.T, *throttle.Throttle)
	shed     bool // how the die falls
	end      error
	falls    bool // there is a fallback
	fallback error
	left     error // what the caller gets
	want     []string
}

func TestHooksAreToldEachMomentInOrder(t *testing.T) {
	above := func(t *testing.T, th *throttle.Throttle) {
		rejectMany(t, th, throttle.High, 300)
		rejectMany(t, th, throttle.Medium, 20)
	}
	own := func(t *testing.T, th *throttle.Throttle) { rejectMany(t, th, throttle.Medium, 60) }
	const begin, shed = "started medium at 0.00", "throttle: backend shed a call of medium priority"
	marked := throttle.MarkRejected(errPlain)
	for name, c := range map[string]moments{
		"accepted": {want: []string{begin, "fn", "finished medium accepted none after 3s: <nil>"}},
		"ordinary error": {
			end: errPlain, left: errPlain,
			want: []string{begin, "fn", "finished medium accepted other after 3s: no such product"},
		},
		"rejected by a mark": {
			end: marked, left: errPlain,
			want: []string{begin, "fn", "finished medium rejected other after 3s: no such product"},
		},
		"panicked elsewhere": {
			end: throttle.ErrPanicked, left: throttle.ErrPanicked,
			want: []string{begin, "fn", "finished medium ignored panic after 3s: throttle: function panicked"},
		},
		"failed, with a fallback": {
			end: errBusy, falls: true,
			want: []string{
				begin, "fn", "fallback of " + errBusy.Error() + ", local false", "fell back medium rejected: <nil>",
				"finished medium rejected availability after 3s: <nil>, fell back",
			},
		},
		"admitted by luck": {
			before: own,
			want:   []string{"started medium at 0.50", "fn", "finished medium accepted none after 3s: <nil>"},
		},
		"shed": {before: own, shed: true, left: throttle.ErrShed, want: []string{"shed medium at 0.50, own"}},
		"shed for those above": {
			before: above, shed: true, left: throttle.ErrShed,
			want: []string{"shed medium at 0.84, above"},
		},
		"shed, with a fallback": {
			before: own, shed: true, falls: true, fallback: errPlain, left: errPlain,
			want: []string{"shed medium at 0.50, own", "fallback of " + shed + ", local true", "fell back medium shed: no such product"},
		},
		"would have been shed": {
			mode: throttle.ModeShadow, before: own, shed: true, end: errBusy, falls: true,
			want: []string{
				"shed medium at 0.50, own, in shadow", "started medium at 0.50, in shadow", "fn",
				"fallback of " + errBusy.Error() + ", local false", "fell back medium rejected: <nil>",
				"finished medium rejected availability after 3s: <nil>, fell back",
			},
		},
		"off": {
			mode: throttle.ModeOff, before: own, shed: true,
			want: []string{begin, "fn", "finished medium accepted none after 3s: <nil>"},
		},
	} {
		for _, form := range []string{"Do", "Do[T]", "Admit"} {
			if form == "Admit" && c.falls {
				continue
			}
			t.Run(name+", "+form, bubble(func(t *testing.T) { c.play(t, form) }))
		}
	}
}

func (c *moments) play(t *testing.T, form string) {
	var w witness
	var fate die
	th := build(t, throttle.Config{Mode: c.mode, Hooks: w.hooks(), Rand: fate.throw})
	if c.before != nil {
		c.before(t, th)
	}
	w.tear()
	fate.sheds.Store(c.shed)
	fn := func(context.Context) error {
		w.write("fn")
		time.Sleep(3 * time.Second)
		return c.end
	}
	var fallback throttle.Fallback
	var valueFallback func(context.Context, error, bool) (int, error)
	if c.falls {
		fallback = func(_ context.Context, err error, local bool) error {
			w.write("fallback of %v, local %v", err, local)
			time.Sleep(5 * time.Second)
			return c.fallback
		}
		valueFallback = func(ctx context.Context, err error, local bool) (int, error) { return 2, fallback(ctx, err, local) }
	}
	var err error
	switch form {
	case "Do":
		err = th.Do(t.Context(), throttle.Medium, fn, fallback)
	case "Do[T]":
		_, err = throttle.Do(t.Context(), th, throttle.Medium,
			func(ctx context.Context) (int, error) { return 1, fn(ctx) }, valueFallback)
	case "Admit":
		var call throttle.Call
		if call, err = th.Admit(t.Context(), throttle.Medium); err == nil {
			equal(t, "in flight", inFlight(th), 1)
			err = c.left
			call.Done(fn(call.Context()))
		}
		call.Done(nil) // the zero Call does nothing, nor does one that has ended
	}
	if !errors.Is(err, c.left) {
		t.Errorf("got error %v want %v", err, c.left)
	}
	w.wantLines(t, c.want...)
	equal(t, "in flight after it", inFlight(th), 0)
}

// TestTheClockIsReadTwiceOnlyForFinished guards the price of a duration that no hook asks for.
func TestTheClockIsReadTwiceOnlyForFinished(t *testing.T) {
	for want, hooks := range []throttle.Hooks{
		1: {Started: func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }},
		2: {Finished: func(context.Context, throttle.FinishEvent) {}},
	} {
		reads := 0
		th := build(t, throttle.Config{Hooks: hooks, Now: func() time.Time { reads++; return newYear(2026) }})
		reads = 0
		equal(t, "Do", th.Do(t.Context(), throttle.High, succeed), nil)
		equal(t, "readings of the clock per call", reads, max(1, want))
	}
}

// TestWhoGetsTheContextOfStarted: all that comes after it, until the call ends.
func TestWhoGetsTheContextOfStarted(t *testing.T) {
	nothing := func(context.Context) context.Context { return nil }
	more := func(ctx context.Context) context.Context {
		return context.WithValue(ctx, markKey{}, fmt.Sprint(markOf(ctx), "+"))
	}
	const after = "started caller, fn %[1]s, classifier %[1]s, fallback %[1]s, fell back %[1]s, finished %[1]s"
	for name, c := range map[string]struct {
		mode         throttle.Mode
		shed         bool
		started, too func(context.Context) context.Context // two joined hooks
		want         string
	}{
		"admitted":                      {throttle.ModeEnforce, false, withMark, nothing, fmt.Sprintf(after, "span")},
		"admitted, Started returns nil": {throttle.ModeEnforce, false, nothing, nothing, fmt.Sprintf(after, "caller")},
		"admitted, two change it":       {throttle.ModeEnforce, false, withMark, more, fmt.Sprintf(after, "span+")},
		"shed":                          {throttle.ModeEnforce, true, withMark, more, "shed caller, fallback caller, fell back caller"},
		"would have been shed":          {throttle.ModeShadow, true, withMark, nothing, "shed caller, " + fmt.Sprintf(after, "span")},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			var seen []string
			var fate die
			see := func(who string, ctx context.Context) {
				if mark, ok := markOf(ctx).(string); ok {
					seen = append(seen, who+" "+mark)
				}
			}
			th := build(t, throttle.Config{
				Mode: c.mode, Rand: fate.throw,
				Classify: func(ctx context.Context, _ error) (throttle.Outcome, bool) {
					see("classifier", ctx)
					return throttle.Rejected, true
				},
				Hooks: throttle.JoinHooks(throttle.Hooks{
					Shed: func(ctx context.Context, _ throttle.ShedEvent) { see("shed", ctx) },
					Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
						see("started", ctx)
						return c.started(ctx)
					},
					Finished: func(ctx context.Context, _ throttle.FinishEvent) { see("finished", ctx) },
					FellBack: func(ctx context.Context, _ throttle.FallbackEvent) { see("fell back", ctx) },
				}, throttle.Hooks{
					Started: func(ctx context.Context, _ throttle.StartEvent) context.Context { return c.too(ctx) },
				}),
			})
			rejectMany(t, th, throttle.High, 60)
			seen = nil
			fate.sheds.Store(c.shed)
			ctx := context.WithValue(t.Context(), markKey{}, "caller")
			_, err := throttle.Do(ctx, th, throttle.High,
				func(ctx context.Context) (int, error) { see("fn", ctx); return 0, errPlain },
				func(ctx context.Context, _ error, _ bool) (int, error) { see("fallback", ctx); return 1, nil })
			equal(t, "error", err, nil)
			equal(t, "contexts", strings.Join(seen, ", "), c.want)
			if call, err := th.Admit(ctx, throttle.High); err == nil {
				call.Done(errPlain)
				equal(t, "the last context", seen[len(seen)-1], "finished "+markOf(call.Context()).(string))
			}
		}))
	}
}

func TestEventsAsText(t *testing.T) {
	th := build(t, throttle.Config{Name: "orders"})
	for want, e := range map[string]fmt.Stringer{
		"orders: admitted high call probability=0.1 shadow":                         throttle.StartEvent{Throttle: th, Probability: 0.1, Shadow: true},
		"orders: shed low call probability=0.5 cause=above":                         throttle.ShedEvent{Throttle: th, Priority: throttle.Low, Probability: 0.5, Cause: throttle.CauseAbove},
		"orders: rejected low call fault=timeout duration=1s fallback":              throttle.FinishEvent{Throttle: th, Priority: throttle.Low, Outcome: throttle.Rejected, Fault: throttle.FaultTimeout, Duration: time.Second, FellBack: true},
		"orders: rejected low call fault=quota duration=1s overloaded shadow":       throttle.FinishEvent{Throttle: th, Priority: throttle.Low, Outcome: throttle.Rejected, Fault: throttle.FaultQuota, Duration: time.Second, Overloaded: true, Shadow: true},
		"orders: fallback high call outcome=shed error=throttle: function panicked": throttle.FallbackEvent{Throttle: th, Outcome: throttle.Shed, Err: throttle.ErrPanicked},
		"orders: alert: growth background=0.1":                                      throttle.PolicyEvent{Throttle: th, After: throttle.PolicyState{Alert: throttle.GrowthAlert, Background: 0.1}},
		"orders: quiet background=0":                                                throttle.PolicyEvent{Throttle: th},
		": shed high call probability=0 cause=own":                                  throttle.ShedEvent{},
		"unknown":    throttle.ReceivedStats{Doubted: true},
		"calm":       throttle.ReceivedStats{Known: true, Calm: true},
		"mixed":      throttle.ReceivedStats{Known: true},
		"overloaded": throttle.ReceivedStats{Known: true, Overloaded: true},
		"doubted":    throttle.ReceivedStats{Known: true, Doubted: true},
	} {
		equal(t, fmt.Sprintf("%T", e), e.String(), want)
	}
}

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[throttle.Hooks]{
		Join: throttle.JoinHooks, Set: throttle.SetDefaultHooks, Get: throttle.DefaultHooks, Reversed: "Finished",
		Create: func(h throttle.Hooks) { build(t, throttle.Config{Hooks: h}) },
	}.Check(t)
}
