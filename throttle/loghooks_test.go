package throttle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// logbook is a slog.Handler that keeps records, and then calls each with the context of the record,
// if that is not nil.
type logbook struct {
	mu    sync.Mutex
	lines []slog.Record
	each  func(context.Context)
}

func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }

func (b *logbook) WithAttrs([]slog.Attr) slog.Handler { return b }

func (b *logbook) WithGroup(string) slog.Handler { return b }

func (b *logbook) Handle(ctx context.Context, r slog.Record) error {
	b.mu.Lock()
	b.lines = append(b.lines, r)
	b.mu.Unlock()
	if b.each != nil {
		b.each(ctx)
	}
	return nil
}

// read returns the lines written since the last time.
func (b *logbook) read() []slog.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines = nil
	return lines
}

// in words: level, message, and the attributes in their order.
func inWords(r slog.Record) string {
	words := []string{r.Level.String(), r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindFloat64 {
			a.Value = slog.Float64Value(math.Round(a.Value.Float64()*100) / 100)
		}
		words = append(words, a.String())
		return true
	})
	return strings.Join(words, " ")
}

// wantLines fails the test if the log does not hold these lines since it was last read.
func (b *logbook) wantLines(t testing.TB, want ...string) {
	t.Helper()
	var got []string
	for _, r := range b.read() {
		got = append(got, inWords(r))
	}
	if !slices.Equal(got, want) {
		t.Errorf("log:\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// logged is a throttle with LogHooks on a log of the test's.
type logged struct {
	*throttle.Throttle
	die
	logbook
}

func newLogged(t testing.TB, mode throttle.Mode) *logged {
	l := &logged{}
	l.Throttle = build(t, throttle.Config{Name: "orders", Mode: mode, Rand: l.throw, Hooks: throttle.LogHooks(slog.New(&l.logbook))})
	return l
}

// shed makes n calls while the die falls to the shedding side.
func (l *logged) shed(t testing.TB, p throttle.Priority, n int) {
	t.Helper()
	l.sheds.Store(true)
	for range n {
		_ = l.Do(t.Context(), p, succeed)
	}
	l.sheds.Store(false)
}

// recover lets the backend accept calls until nothing more is shed, which takes no time.
func (l *logged) recover(t testing.TB, p throttle.Priority) {
	t.Helper()
	for range 10000 {
		if l.RejectionProbability(p) == 0 {
			return
		}
		_ = l.Do(t.Context(), p, succeed)
	}
	t.Fatalf("probability after 10000 accepted calls: got %v want 0", l.RejectionProbability(p))
}

func TestTheStoryOfAnOverload(t *testing.T) {
	cases := []struct {
		name  string
		mode  throttle.Mode
		start string
		stop  string
	}{
		{
			"enforce", throttle.ModeEnforce,
			"WARN throttle started to shed throttle=orders priority=medium probability=0.5 cause=own",
			"INFO throttle stopped shedding throttle=orders priority=medium duration=%v shed=%d peak_probability=%v faults=[%s]",
		},
		{
			"shadow", throttle.ModeShadow,
			"WARN throttle would start to shed throttle=orders priority=medium probability=0.5 cause=own",
			"INFO throttle would stop shedding throttle=orders priority=medium duration=%v shed=%d peak_probability=%v faults=[%s]",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(t, c.mode)
				rejectMany(t, l.Throttle, throttle.Medium, 60)
				l.wantLines(t) // nothing has been shed yet

				l.shed(t, throttle.Medium, 1)
				l.wantLines(t, c.start)

				rejectMany(t, l.Throttle, throttle.Medium, 119) // 180 requests of which none was accepted: 0.75
				_ = l.Do(t.Context(), throttle.Medium, returns(context.DeadlineExceeded))
				l.shed(t, throttle.Medium, 9)
				times(60, l.Throttle, throttle.Medium, nil) // past the peak
				time.Sleep(time.Second)
				l.shed(t, throttle.Medium, 1)
				l.wantLines(t)

				time.Sleep(time.Second + time.Second/2)
				l.recover(t, throttle.Medium)
				l.wantLines(t)
				time.Sleep(time.Second)
				l.wantLines(t, fmt.Sprintf(c.stop, 4*time.Second, 11, 0.75, "availability=179 timeout=1"))

				time.Sleep(time.Hour)
				l.wantLines(t)
			})
		})
	}
}

// TestEveryOverloadHasAStoryOfItsOwn: what the first one left must not turn up in the second.
func TestEveryOverloadHasAStoryOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 540)
		l.shed(t, throttle.High, 3)
		l.recover(t, throttle.High)
		time.Sleep(time.Hour)
		l.wantLines(t,
			"WARN throttle started to shed throttle=orders priority=high probability=0.9 cause=own",
			"INFO throttle stopped shedding throttle=orders priority=high duration=1s shed=3 peak_probability=0.9 faults=[availability=540]")

		rejectMany(t, l.Throttle, throttle.High, 20)
		l.shed(t, throttle.High, 2)
		l.recover(t, throttle.High)
		time.Sleep(time.Hour)
		l.wantLines(t,
			"WARN throttle started to shed throttle=orders priority=high probability=0.25 cause=own",
			"INFO throttle stopped shedding throttle=orders priority=high duration=1s shed=2 peak_probability=0.25 faults=[availability=20]")
	})
}

func TestTwoPrioritiesHaveTwoStories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		rejectMany(t, l.Throttle, throttle.Low, 60)
		l.shed(t, throttle.Low, 2)
		l.shed(t, throttle.High, 1)
		l.wantLines(t,
			"WARN throttle started to shed throttle=orders priority=low probability=0.67 cause=own",
			"WARN throttle started to shed throttle=orders priority=high probability=0.5 cause=own")

		l.recover(t, throttle.High)
		time.Sleep(time.Second + time.Second/2)
		l.wantLines(t,
			"INFO throttle stopped shedding throttle=orders priority=high duration=1s shed=1 peak_probability=0.5 faults=[availability=60]")

		l.recover(t, throttle.Low)
		time.Sleep(time.Second)
		l.wantLines(t,
			"INFO throttle stopped shedding throttle=orders priority=low duration=2s shed=2 peak_probability=0.67 faults=[availability=60]")
	})
}

// TestTwoThrottlesHaveTwoStories: one LogHooks may serve many throttles, also of one name.
func TestTwoThrottlesHaveTwoStories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		hooks := throttle.LogHooks(slog.New(&l.logbook))
		want := "INFO throttle stopped shedding throttle=%s priority=high duration=%v shed=1 peak_probability=0.5 faults=[availability=60]"
		for _, name := range []string{"orders", "orders", "users"} {
			l.Throttle = build(t, throttle.Config{Name: name, Rand: l.throw, Hooks: hooks})
			rejectMany(t, l.Throttle, throttle.High, 60)
			l.shed(t, throttle.High, 1)
			l.wantLines(t, "WARN throttle started to shed throttle="+name+" priority=high probability=0.5 cause=own")
		}
		_ = l.Close()
		l.wantLines(t, fmt.Sprintf(want, "users", "0s"))
		time.Sleep(time.Hour) // a rejection is remembered for a minute
		l.wantLines(t, fmt.Sprintf(want, "orders", "1m1s"), fmt.Sprintf(want, "orders", "1m1s"))
	})
}

func TestFaultsOfCallsThatShadowLetThroughAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeShadow)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.sheds.Store(true)
		times(5, l.Throttle, throttle.High, context.DeadlineExceeded)
		_ = l.Close()
		lines := l.read()
		got, want := inWords(lines[len(lines)-1]), "faults=[availability=60 timeout=5]"
		if !strings.Contains(got, want) {
			t.Errorf("last line: got %q, want it to contain %q", got, want)
		}
	})
}

// TestOffEndsTheStory: nothing is shed any more, whatever the probability is at which Enforce would shed.
func TestOffEndsTheStory(t *testing.T) {
	for _, c := range []struct {
		mode throttle.Mode
		stop string
	}{
		{throttle.ModeEnforce, "INFO throttle stopped shedding"},
		{throttle.ModeShadow, "INFO throttle would stop shedding"},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(t, c.mode)
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 1)
				time.Sleep(3*time.Second + time.Second/2)
				l.read()
				setMode(t, l.Throttle, throttle.ModeOff)
				time.Sleep(time.Second)
				l.wantLines(t, c.stop+" throttle=orders priority=high duration=4s shed=1 peak_probability=0.5 faults=[availability=60]")
				if l.RejectionProbability(throttle.High) == 0 {
					t.Error("the probability is 0 as well: this proves nothing")
				}
				l.shed(t, throttle.High, 10)
				time.Sleep(time.Hour)
				l.wantLines(t)
			})
		})
	}
}

// TestAnotherModeIsAnotherStory: from one shed call to the next Shadow becomes Enforce, or Enforce becomes Shadow.
func TestAnotherModeIsAnotherStory(t *testing.T) {
	start := map[throttle.Mode]string{throttle.ModeEnforce: "throttle started to shed", throttle.ModeShadow: "throttle would start to shed"}
	stop := map[throttle.Mode]string{throttle.ModeEnforce: "throttle stopped shedding", throttle.ModeShadow: "throttle would stop shedding"}
	for first, then := range map[throttle.Mode]throttle.Mode{throttle.ModeShadow: throttle.ModeEnforce, throttle.ModeEnforce: throttle.ModeShadow} {
		t.Run(first.String()+" to "+then.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLogged(t, first)
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 2)
				l.wantLines(t, "WARN "+start[first]+" throttle=orders priority=high probability=0.5 cause=own")
				time.Sleep(time.Second / 2)
				setMode(t, l.Throttle, then)
				l.shed(t, throttle.High, 3)
				l.wantLines(t,
					"INFO "+stop[first]+" throttle=orders priority=high duration=500ms shed=2 peak_probability=0.5 faults=[availability=60]",
					"WARN "+start[then]+" throttle=orders priority=high probability=0.51 cause=own")
				_ = l.Close()
				l.wantLines(t, "INFO "+stop[then]+" throttle=orders priority=high duration=0s shed=3 peak_probability=0.51")
			})
		})
	}
}

// TestTheTimerFindsAnotherMode, if no call is shed after the change that would.
func TestTheTimerFindsAnotherMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeShadow)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1)
		l.read()
		setMode(t, l.Throttle, throttle.ModeEnforce)
		time.Sleep(time.Hour)
		l.wantLines(t,
			"INFO throttle would stop shedding throttle=orders priority=high duration=1s shed=1 peak_probability=0.5 faults=[availability=60]")
	})
}

// TestALateShedOfTheModeBeforeTellsNoStory has the mode changed while a shed call is on its way to LogHooks.
func TestALateShedOfTheModeBeforeTellsNoStory(t *testing.T) {
	for _, c := range []struct {
		name string
		then throttle.Mode
	}{{"to off", throttle.ModeOff}, {"to shadow", throttle.ModeShadow}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logged{}
				changer := throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) { setMode(t, e.Throttle, c.then) }}
				l.Throttle = build(t, throttle.Config{
					Name: "orders", Rand: l.throw, Hooks: throttle.JoinHooks(changer, throttle.LogHooks(slog.New(&l.logbook))),
				})
				rejectMany(t, l.Throttle, throttle.High, 60)
				l.shed(t, throttle.High, 1)
				l.wantLines(t)
			})
		})
	}
}

// TestTheGateTellsOneStory: calls that take a little longer than Slow, so that the gate refuses some of them
// all the time. The probability is 0 between two refusals.
func TestTheGateTellsOneStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		l.Throttle = build(t, throttle.Config{
			Name: "orders", Policy: throttle.Tiered, Slow: 100 * time.Millisecond, Hooks: throttle.LogHooks(slog.New(&l.logbook)),
		})
		for range 6000 { // a minute
			time.Sleep(10 * time.Millisecond)
			if call, err := l.Admit(t.Context(), throttle.High); err == nil {
				time.AfterFunc(126*time.Millisecond, func() { call.Done(nil) })
			}
		}
		time.Sleep(2 * time.Minute) // the policy may remember the refusals for about a minute
		lines := map[string]int{}
		for _, r := range l.read() {
			lines[r.Message]++
		}
		equal(t, "started", lines["throttle started to shed"], 1)
		equal(t, "stopped", lines["throttle stopped shedding"], 1)
	})
}

// TestTheTimerRunsOnlyWhileShedding counts how often the clock of a throttle that nobody calls is read, which LogHooks does
// each time it looks whether the shedding has stopped.
func TestTheTimerRunsOnlyWhileShedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		var readings atomic.Int64
		l.Throttle = build(t, throttle.Config{
			Rand: l.throw, Hooks: throttle.LogHooks(slog.New(&l.logbook)),
			Now: func() time.Time { readings.Add(1); return time.Now() },
		})
		looks := func(d time.Duration) int {
			readings.Store(0)
			time.Sleep(d)
			return int(readings.Load())
		}
		equal(t, "looks while all is well", looks(time.Hour), 0)

		rejectMany(t, l.Throttle, throttle.High, 60)
		equal(t, "looks before the first shed", looks(10*time.Second+time.Second/2), 0)

		l.shed(t, throttle.High, 1)
		equal(t, "looks while shedding", looks(10*time.Second+time.Second/2), 10)

		l.recover(t, throttle.High)
		equal(t, "looks after the recovery", looks(time.Hour), 1)

		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1)
		_ = l.Close()
		equal(t, "looks after Close", looks(time.Hour), 0)
	})
}

func TestCloseEndsTheStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		rejectMany(t, l.Throttle, throttle.Low, 60)
		l.shed(t, throttle.High, 2)
		time.Sleep(3 * time.Second)
		l.shed(t, throttle.Low, 1)
		l.read()
		_ = l.Close()
		l.wantLines(t,
			"INFO throttle stopped shedding throttle=orders priority=high duration=3s shed=2 peak_probability=0.5 faults=[availability=60]",
			"INFO throttle stopped shedding throttle=orders priority=low duration=0s shed=1 peak_probability=0.67 faults=[availability=60]")

		l.shed(t, throttle.High, 100)
		_ = l.Close()
		time.Sleep(time.Hour)
		l.wantLines(t)
	})
}

func TestCloseWithoutAStoryIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		_ = l.Close()
		l.wantLines(t)

		l = newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1)
		l.recover(t, throttle.High)
		time.Sleep(time.Minute)
		equal(t, "lines of a story that has been told", len(l.read()), 2)
		_ = l.Close()
		l.wantLines(t)
	})
}

func TestANilLoggerIsTheDefaultOne(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Rand: fate.throw, Hooks: throttle.LogHooks(nil)})
		rejectMany(t, th, throttle.High, 60)
		fate.sheds.Store(true)
		_ = th.Do(t.Context(), throttle.High, succeed)
		_ = th.Close()
	})
	for _, want := range []string{
		"level=WARN msg=\"throttle started to shed\"", "level=INFO msg=\"throttle stopped shedding\"", "faults.availability=60",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("default log: got %q, want it to contain %q", out.String(), want)
		}
	}
}

// TestTheWarningHasTheContextOfTheCall, from which a handler may take the trace's id.
func TestTheWarningHasTheContextOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		var marks []any
		l.each = func(ctx context.Context) { marks = append(marks, markOf(ctx)) }
		l.sheds.Store(true)
		_ = l.Do(withMark(t.Context()), throttle.High, succeed)
		if len(marks) != 1 || marks[0] != "span" {
			t.Errorf("marks of the contexts that the handler got: got %v want [span]", marks)
		}
	})
}

// TestAHandlerThatPanics loses its own line and nothing else: the panic is the caller's, the call is in the books, and the story
// is told to its end.
func TestAHandlerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.each = func(context.Context) { panic("disk full") }
		equal(t, "panic of the call that starts the story", survive(func() { l.shed(t, throttle.High, 1) }), any("disk full"))
		equal(t, "panic of the next shed call", survive(func() { l.shed(t, throttle.High, 1) }), nil)
		equal(t, "shed", tier(l.Throttle, throttle.High).Shed.Count(throttle.CauseOwn), 2)
		equal(t, "in flight", inFlight(l.Throttle), 0)
		l.each = nil
		l.sheds.Store(false)
		l.read()
		l.recover(t, throttle.High)
		time.Sleep(time.Minute)
		l.wantLines(t,
			"INFO throttle stopped shedding throttle=orders priority=high duration=1s shed=2 peak_probability=0.5 faults=[availability=60]")
	})
}

// TestAHandlerMayCallTheThrottle, although that call is shed.
func TestAHandlerMayCallTheThrottle(t *testing.T) {
	l, shed := newLogged(t, throttle.ModeEnforce), 0
	l.each = func(context.Context) {
		if err := l.Do(t.Context(), throttle.High, succeed); errors.Is(err, throttle.ErrShed) {
			shed++
		}
	}
	l.sheds.Store(true)
	inTime(t, func() {
		times(100, l.Throttle, throttle.High, errBusy)
		equal(t, "Close", l.Close(), nil)
	})
	equal(t, "calls of the handler that were shed", shed, 2)
}

// TestManyGoroutinesTellOneStory, for the race detector, and because each of them could take itself for the first.
func TestManyGoroutinesTellOneStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.ModeEnforce)
		rejectMany(t, l.Throttle, throttle.High, 600)
		l.sheds.Store(true)
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for range 20 {
					_ = l.Do(t.Context(), throttle.High, succeed)
					if time.Sleep(100 * time.Millisecond); i == 0 {
						l.Stats()
					}
				}
			})
		}
		wg.Wait()
		equal(t, "lines while shedding", len(l.read()), 1)
		_ = l.Close()
		lines := l.read()
		if len(lines) != 1 {
			t.Fatalf("lines at the end: got %d want 1", len(lines))
		}
		got, want := inWords(lines[0]), " shed=1280 "
		if !strings.Contains(got, want) {
			t.Errorf("last line: got %q, want it to contain %q", got, want)
		}
	})
}

// TestAShedThatMeetsCloseStartsNoStory: nobody would end it.
func TestAShedThatMeetsCloseStartsNoStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		l := &logged{}
		closer := throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) { _ = e.Throttle.Close() }}
		l.Throttle = build(t, throttle.Config{
			Name: "orders", Rand: l.throw,
			Now:   func() time.Time { looks.Add(1); return time.Now() },
			Hooks: throttle.JoinHooks(closer, throttle.LogHooks(slog.New(&l.logbook))),
		})
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1) // closes, then tells LogHooks of the shed
		looks.Store(0)
		time.Sleep(time.Hour)
		equal(t, "looks after Close", looks.Load(), 0)
		l.wantLines(t)
	})
}

func TestLogHooksNameTheKeyOfAMember(t *testing.T) {
	var log bytes.Buffer
	hooks := throttle.LogHooks(slog.New(slog.NewTextHandler(&log, nil)))
	g := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "backends", Rand: unlucky, Hooks: hooks}
	}, throttle.GroupConfig{}))
	for _, host := range []string{"a.example", "b.example"} {
		th := throttle.Must(g.Get(host))
		overload(t, th, throttle.High)
		_ = th.Do(context.Background(), throttle.High, unwanted(t))
	}
	equal(t, "error of Close", g.Close(), nil)
	for _, line := range []string{
		`msg="throttle started to shed" throttle=backends key=a.example priority=high`,
		`msg="throttle started to shed" throttle=backends key=b.example priority=high`,
		`msg="throttle stopped shedding" throttle=backends key=a.example priority=high`,
	} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("got log\n%swant a line with %s", log.String(), line)
		}
	}
}

// TestLogHooks_digits are three: 0.6666666666666666 is hard to read.
func TestLogHooks_digits(t *testing.T) {
	var book logbook
	hooks := throttle.LogHooks(slog.New(&book))
	th := build(t, throttle.Config{Name: "db", Hooks: hooks})
	hooks.Shed(t.Context(), throttle.ShedEvent{Throttle: th, Priority: throttle.Low, Probability: 2.0 / 3})
	for _, r := range book.read() {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "probability" && a.Value.Float64() != 0.667 {
				t.Errorf("got %v want 0.667", a)
			}
			return true
		})
	}
}
