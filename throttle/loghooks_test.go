package throttle_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// logbook is a slog.Handler that keeps records, and panics over them if told to.
type logbook struct {
	mu     sync.Mutex
	lines  []slog.Record
	panics bool
}

func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logbook) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *logbook) WithGroup(string) slog.Handler            { return b }

func (b *logbook) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	b.lines = append(b.lines, r)
	b.mu.Unlock()
	if b.panics {
		panic("disk full")
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
			"enforce", throttle.Enforce,
			"WARN throttle started to shed throttle=orders priority=medium probability=0.5 cause=own",
			"INFO throttle stopped shedding throttle=orders priority=medium duration=%v shed=%d peak_probability=%v faults=[%s]",
		},
		{
			"shadow", throttle.Shadow,
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
		l := newLogged(t, throttle.Enforce)
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
		l := newLogged(t, throttle.Enforce)
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
		l := newLogged(t, throttle.Shadow)
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
