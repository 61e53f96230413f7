package throttle_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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
		l := newLogged(t, throttle.Enforce)
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
		l := newLogged(t, throttle.Enforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		_ = l.Close()
		l.wantLines(t)

		l = newLogged(t, throttle.Enforce)
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
		var fate die
		var marks []any
		handler := markHandler{Handler: slog.DiscardHandler, marks: &marks}
		th := build(t, throttle.Config{Rand: fate.throw, Hooks: throttle.LogHooks(slog.New(handler))})
		rejectMany(t, th, throttle.High, 60)
		fate.sheds.Store(true)
		_ = th.Do(withMark(t.Context()), throttle.High, succeed)
		if len(marks) != 1 || marks[0] != "span" {
			t.Errorf("marks of the contexts that the handler got: got %v want [span]", marks)
		}
	})
}

// markHandler notes the mark of each record's context.
type markHandler struct {
	slog.Handler
	marks *[]any
}

func (h markHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h markHandler) Handle(ctx context.Context, _ slog.Record) error {
	*h.marks = append(*h.marks, markOf(ctx))
	return nil
}

// TestAHandlerThatPanics loses its own line and nothing else: the panic is the caller's, the call is in the books, and the story
// is told to its end.
func TestAHandlerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Enforce)
		rejectMany(t, l.Throttle, throttle.High, 60)
		l.panics = true
		equal(t, "panic of the call that starts the story", survive(func() { l.shed(t, throttle.High, 1) }), any("disk full"))
		equal(t, "panic of the next shed call", survive(func() { l.shed(t, throttle.High, 1) }), nil)
		equal(t, "shed", tier(l.Throttle, throttle.High).Shed[throttle.Own], 2)
		equal(t, "in flight", inFlight(l.Throttle), 0)
		l.panics = false
		l.sheds.Store(false)
		l.read()
		l.recover(t, throttle.High)
		time.Sleep(time.Minute)
		l.wantLines(t,
			"INFO throttle stopped shedding throttle=orders priority=high duration=1s shed=2 peak_probability=0.5 faults=[availability=60]")
	})
}

// callingHandler calls a throttle for each line, as one does that sends its lines to a backend.
type callingHandler struct {
	slog.Handler
	call func()
}

func (h callingHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h callingHandler) Handle(context.Context, slog.Record) error {
	h.call()
	return nil
}

// TestAHandlerMayCallTheThrottle, though that sheds its call.
func TestAHandlerMayCallTheThrottle(t *testing.T) {
	var th *throttle.Throttle
	shed := 0
	handler := callingHandler{slog.DiscardHandler, func() {
		if err := th.Do(t.Context(), throttle.High, succeed); errors.Is(err, throttle.ErrShed) {
			shed++
		}
	}}
	th = build(t, throttle.Config{Rand: unlucky, Hooks: throttle.LogHooks(slog.New(handler))})
	inTime(t, func() {
		times(100, th, throttle.High, errBusy)
		equal(t, "Close", th.Close(), nil)
	})
	equal(t, "calls of the handler that were shed", shed, 2)
}

// TestManyGoroutinesTellOneStory, for the race detector, and because each of them could take itself for the first.
func TestManyGoroutinesTellOneStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged(t, throttle.Enforce)
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
