package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// newLogged returns one that is called orders, with the policy SRE and a die. LogHooks is behind the hooks of c.
func newLogged(t testing.TB, c throttle.Config) *logged {
	l := &logged{}
	c.Name, c.Rand, c.Hooks = "orders", l.throw, throttle.JoinHooks(c.Hooks, throttle.LogHooks(slog.New(&l.logbook)))
	l.Throttle = build(t, c)
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

// started is the line of a story that begins.
func started(mode throttle.Mode, p throttle.Priority, probability float64) string {
	verb := map[throttle.Mode]string{throttle.ModeEnforce: "started", throttle.ModeShadow: "would start"}[mode]
	return fmt.Sprintf("WARN throttle %s to shed throttle=orders priority=%v probability=%v cause=own", verb, p, probability)
}

// stopped is the line of a story that ends.
func stopped(mode throttle.Mode, p throttle.Priority, after time.Duration, shed int, peak float64, faults string) string {
	verb := map[throttle.Mode]string{throttle.ModeEnforce: "stopped", throttle.ModeShadow: "would stop"}[mode]
	line := fmt.Sprintf("INFO throttle %s shedding throttle=orders priority=%v duration=%v shed=%d peak_probability=%v",
		verb, p, after, shed, peak)
	if faults != "" {
		line += " faults=[" + faults + "]"
	}
	return line
}

func TestLogHooks_story(t *testing.T) {
	for _, mode := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow} {
		synctest.Test(t, func(t *testing.T) {
			l, p := newLogged(t, throttle.Config{Mode: mode}), throttle.Medium
			rejectMany(t, l.Throttle, p, 60)
			l.wantLines(t) // nothing has been shed yet

			l.shed(t, p, 1)
			l.wantLines(t, started(mode, p, 0.5))

			rejectMany(t, l.Throttle, p, 119) // 180 requests of which none was accepted: 0.75
			_ = l.Do(t.Context(), p, returns(context.DeadlineExceeded))
			l.shed(t, p, 9)
			times(60, l.Throttle, p, nil) // past the peak
			time.Sleep(time.Second)
			l.shed(t, p, 1)
			l.wantLines(t)

			time.Sleep(time.Second + time.Second/2)
			l.recover(t, p)
			l.wantLines(t)
			time.Sleep(time.Second)
			l.wantLines(t, stopped(mode, p, 4*time.Second, 11, 0.75, "availability=179 timeout=1"))
			time.Sleep(time.Hour)
			l.wantLines(t)

			// The second story has nothing of the first.
			rejectMany(t, l.Throttle, p, 20)
			l.sheds.Store(true)
			times(2, l.Throttle, p, context.DeadlineExceeded)
			l.sheds.Store(false)
			l.recover(t, p)
			time.Sleep(time.Hour)
			faults := "availability=20"
			if mode == throttle.ModeShadow {
				faults += " timeout=2"
			}
			l.wantLines(t, started(mode, p, 0.25), stopped(mode, p, time.Second, 2, 0.25, faults))
		})
	}
}

// TestLogHooks_priorities has a story of two priorities. One ends with the recovery, and the other with Close.
func TestLogHooks_priorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, mode := newLogged(t, throttle.Config{}), throttle.ModeEnforce
		rejectMany(t, l.Throttle, throttle.High, 60)
		rejectMany(t, l.Throttle, throttle.Low, 60)
		l.shed(t, throttle.Low, 2)
		l.shed(t, throttle.High, 1)
		l.wantLines(t, started(mode, throttle.Low, 0.667), started(mode, throttle.High, 0.5))

		l.recover(t, throttle.High)
		time.Sleep(time.Second + time.Second/2)
		l.wantLines(t, stopped(mode, throttle.High, time.Second, 1, 0.5, "availability=60"))

		time.Sleep(3 * time.Second)
		_ = l.Close()
		l.wantLines(t, stopped(mode, throttle.Low, 4500*time.Millisecond, 2, 0.667, "availability=60"))
		l.shed(t, throttle.Low, 100)
		_ = l.Close()
		time.Sleep(time.Hour)
		l.wantLines(t)
	})
}

// TestLogHooks_throttles: one LogHooks may serve many throttles, also of one name.
func TestLogHooks_throttles(t *testing.T) {
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

// TestLogHooks_modeChanges has the mode changed half a second after the first shed calls. A story ends with the next
// call that is shed, or after a second.
func TestLogHooks_modeChanges(t *testing.T) {
	for _, c := range []struct {
		first, then throttle.Mode
		shed        int // after the change
	}{
		{throttle.ModeEnforce, throttle.ModeShadow, 3},
		{throttle.ModeShadow, throttle.ModeEnforce, 3},
		{throttle.ModeShadow, throttle.ModeEnforce, 0},
		{throttle.ModeEnforce, throttle.ModeOff, 0},
		{throttle.ModeShadow, throttle.ModeOff, 0},
	} {
		t.Run(fmt.Sprintf("%v to %v, %d", c.first, c.then, c.shed), bubble(func(t *testing.T) {
			l, p := newLogged(t, throttle.Config{Mode: c.first}), throttle.High
			rejectMany(t, l.Throttle, p, 60)
			l.shed(t, p, 2)
			l.wantLines(t, started(c.first, p, 0.5))
			time.Sleep(time.Second / 2)
			setMode(t, l.Throttle, c.then)
			if l.shed(t, p, c.shed); c.shed > 0 {
				l.wantLines(t, stopped(c.first, p, time.Second/2, 2, 0.5, "availability=60"), started(c.then, p, 0.508))
				_ = l.Close()
				l.wantLines(t, stopped(c.then, p, 0, 3, 0.508, ""))
				return
			}
			time.Sleep(time.Second)
			l.wantLines(t, stopped(c.first, p, time.Second, 2, 0.5, "availability=60"))
			if l.RejectionProbability(p) == 0 {
				t.Error("the probability is 0 as well: this proves nothing")
			}
			if c.then == throttle.ModeOff {
				l.shed(t, p, 10)
			}
			time.Sleep(time.Hour)
			l.wantLines(t)
		}))
	}
}

// TestLogHooks_late has a shed call on its way to LogHooks while the mode changes or the throttle is closed. It begins no
// story, which would have no end.
func TestLogHooks_late(t *testing.T) {
	for name, meanwhile := range map[string]func(*throttle.Throttle){
		"off":    func(th *throttle.Throttle) { setMode(t, th, throttle.ModeOff) },
		"shadow": func(th *throttle.Throttle) { setMode(t, th, throttle.ModeShadow) },
		"closed": func(th *throttle.Throttle) { _ = th.Close() },
	} {
		t.Run(name, bubble(func(t *testing.T) {
			var looks atomic.Int64
			l := newLogged(t, throttle.Config{
				Now:   func() time.Time { looks.Add(1); return time.Now() },
				Hooks: throttle.Hooks{Shed: func(_ context.Context, e throttle.ShedEvent) { meanwhile(e.Throttle) }},
			})
			rejectMany(t, l.Throttle, throttle.High, 60)
			l.shed(t, throttle.High, 1)
			looks.Store(0)
			time.Sleep(time.Hour)
			l.wantLines(t)
			equal(t, "looks of the timer", looks.Load(), 0)
		}))
	}
}

// TestLogHooks_gate: calls that take a little longer than Slow, so that the gate refuses some of them
// all the time. The probability is 0 between two refusals.
func TestLogHooks_gate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Config{Slow: 100 * time.Millisecond})
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

// TestLogHooks_timer counts how often the clock of a throttle without calls is read, which LogHooks does
// each time it looks whether the shedding has stopped.
func TestLogHooks_timer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readings atomic.Int64
		l := newLogged(t, throttle.Config{Now: func() time.Time { readings.Add(1); return time.Now() }})
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

func TestLogHooks_defaultLogger(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var log logbook
	slog.SetDefault(slog.New(&log))
	_ = shedding(t, throttle.Config{Hooks: throttle.LogHooks(nil)}).Close()
	equal(t, "lines", len(log.read()), 2)
}

// TestLogHooks_panic loses its own line and nothing else: the panic is the caller's, the call is in the books, and the story
// is told to its end.
func TestLogHooks_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Config{})
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
			stopped(throttle.ModeEnforce, throttle.High, time.Second, 2, 0.5, "availability=60"))
	})
}

// TestLogHooks_panicOfTimer has a logger that panics in the goroutine of a timer. That costs a line, and not the process.
func TestLogHooks_panicOfTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Config{})
		var full atomic.Bool
		l.each = func(context.Context) {
			if full.Load() {
				panic("disk full")
			}
		}
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.shed(t, throttle.High, 1)
		l.recover(t, throttle.High)
		full.Store(true)
		time.Sleep(time.Minute)
		full.Store(false)
		l.read()
		rejectMany(t, l.Throttle, throttle.High, 60000)
		l.shed(t, throttle.High, 1)
		equal(t, "lines of the next story", len(l.read()), 1)
	})
}

// TestLogHooks_handler may call the throttle, although that call is shed, and gets the context of the call that begins
// a story, from which it may take the trace's ID.
func TestLogHooks_handler(t *testing.T) {
	l, shed := newLogged(t, throttle.Config{}), 0
	var marks []any
	l.each = func(ctx context.Context) {
		marks = append(marks, markOf(ctx))
		if err := l.Do(t.Context(), throttle.High, succeed); errors.Is(err, throttle.ErrShed) {
			shed++
		}
	}
	l.sheds.Store(true)
	inTime(t, func() {
		for range 100 {
			_ = l.Do(withMark(t.Context()), throttle.High, returns(errBusy))
		}
		equal(t, "Close", l.Close(), nil)
	})
	equal(t, "calls of the handler that were shed", shed, 2)
	equal(t, "contexts", fmt.Sprint(marks), "[span <nil>]")
}

// TestLogHooks_parallel, for the race detector, and because each of them could take itself for the first.
func TestLogHooks_parallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Config{})
		rejectMany(t, l.Throttle, throttle.High, 600)
		l.sheds.Store(true)
		parallel(64, func(i int) {
			for range 20 {
				_ = l.Do(t.Context(), throttle.High, succeed)
				if time.Sleep(100 * time.Millisecond); i == 0 {
					l.Stats()
				}
			}
		})
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
