package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func succeed(context.Context) error { return nil }

// die is a Config.Rand that falls as the test says: to the side that sheds wherever there is a probability, or, as a
// fresh one does, to the side that admits.
type die struct{ sheds atomic.Bool }

func (d *die) throw() float64 {
	if d.sheds.Load() {
		return unlucky()
	}
	return lucky()
}

// newYear is the first instant of a year.
func newYear(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }

// rejectMany lets the backend reject n calls of priority p, which the dice must admit, and a bucket go by, so that the next
// decision knows. In a window of a minute without other calls, the probability of shedding is then n/(n+60).
func rejectMany(t testing.TB, th *throttle.Throttle, p throttle.Priority, n int) {
	t.Helper()
	for range n {
		if err := th.Do(t.Context(), p, returns(errBusy)); !errors.Is(err, errBusy) {
			t.Fatalf("a call that the backend should reject: got %v, want %v", err, errBusy)
		}
	}
	time.Sleep(time.Second) // in a bubble
}

// witness writes down, one line each, what hooks and the functions of calls receive. The hook of the moment that trips
// names then calls exit.
type witness struct {
	mu       sync.Mutex
	throttle *throttle.Throttle
	lines    []string
	finished []throttle.FinishEvent
	fellBack []throttle.FallbackEvent
	trips    string
	exit     func()
}

func (w *witness) write(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.mu.Lock()
	w.lines = append(w.lines, line)
	w.mu.Unlock()
	if w.trips != "" && strings.HasPrefix(line, w.trips+" ") {
		w.exit()
	}
}

// tear takes out and returns what has been written.
func (w *witness) tear() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines, w.finished, w.fellBack = nil, nil, nil
	return lines
}

// wantLines fails the test unless these lines were written since the last tear.
func (w *witness) wantLines(t testing.TB, want ...string) {
	t.Helper()
	if got := w.tear(); !slices.Equal(got, want) {
		t.Errorf("received:\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// want fails the test unless the hooks of calls were called at these moments, in this order.
func (w *witness) want(t testing.TB, moments ...string) {
	t.Helper()
	got := slices.DeleteFunc(slices.Clone(w.lines), func(line string) bool { return strings.HasPrefix(line, "created ") })
	if !slices.EqualFunc(got, moments, func(line, moment string) bool { return strings.HasPrefix(line, moment+" ") }) {
		t.Errorf("hooks: got %q want %q", got, moments)
	}
}

// met notes an event's throttle if it is not the one that Created received.
func (w *witness) met(th *throttle.Throttle) {
	w.mu.Lock()
	known := w.throttle
	w.mu.Unlock()
	if th == nil || th != known {
		w.write("an event of a stranger: got throttle %p, want %p", th, known)
	}
}

// hooks listens to every moment.
func (w *witness) hooks() throttle.Hooks {
	return throttle.Hooks{
		Created: func(th *throttle.Throttle) {
			w.mu.Lock()
			w.throttle = th
			w.mu.Unlock()
			w.write("created %s", th.Name())
		},
		Closed: func(th *throttle.Throttle) {
			w.met(th)
			w.write("closed %s", th.Name())
		},
		Shed: func(_ context.Context, e throttle.ShedEvent) {
			w.met(e.Throttle)
			w.write("shed %v at %.2f, %v%s", e.Priority, e.Probability, e.Cause, iff(e.Shadow, ", in shadow"))
		},
		Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
			w.met(e.Throttle)
			w.write("started %v at %.2f%s", e.Priority, e.Probability, iff(e.Shadow, ", in shadow"))
			return ctx
		},
		Finished: func(_ context.Context, e throttle.FinishEvent) {
			w.met(e.Throttle)
			w.mu.Lock()
			w.finished = append(w.finished, e)
			w.mu.Unlock()
			w.write("finished %v %v %v after %v: %v%s", e.Priority, e.Outcome, e.Fault, e.Duration, e.Err, iff(e.FellBack, ", fell back"))
		},
		FellBack: func(_ context.Context, e throttle.FallbackEvent) {
			w.met(e.Throttle)
			w.fellBack = append(w.fellBack, e)
			w.write("fell back %v %v: %v", e.Priority, e.Outcome, e.Err)
		},
	}
}

func iff(condition bool, words string) string {
	if condition {
		return words
	}
	return ""
}

// survive runs f, and returns what it panicked with.
func survive(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}

// elsewhere runs f on a goroutine of its own, and waits for its end however it ends.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// near reports whether got is want, but for rounding.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-12 }

// markKey is where a context keeps the mark that a test puts into it.
type markKey struct{}

func markOf(ctx context.Context) any { return ctx.Value(markKey{}) }

func withMark(ctx context.Context) context.Context { return context.WithValue(ctx, markKey{}, "span") }
