package throttle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/feedback"
)

// playSaying plays calls while the backend sends a load report ten times per second.
func (w *watched) playSaying(r LoadReport, length time.Duration, rate, failing float64) (shed int) {
	for range length / (100 * time.Millisecond) {
		w.ReceiveLoad(r)
		shed += w.play(100*time.Millisecond, rate, failing)
	}
	return shed
}

// TestMonitor_overloaded wants that an alert begins with the first rejections if the backend says that it
// is overloaded, and that it ends a second after it says that it is calm.
func TestMonitor_overloaded(t *testing.T) {
	w := newWatched(t, Config{})
	w.playSaying(LoadReport{}, time.Minute, 100, 0)
	w.failure = MarkOverloaded(context.DeadlineExceeded)
	w.playSaying(LoadReport{Overloaded: true}, 400*time.Millisecond, 100, 0.1)
	w.want(t, "full", 0)
	w.playSaying(LoadReport{Overloaded: true}, 20*time.Second, 100, 0.5)
	w.want(t, "full", 0)
	w.playSaying(LoadReport{}, 3*time.Second, 100, 0)
	w.want(t, "full none", 0)
	if shed := w.playSaying(LoadReport{}, 10*time.Second, 100, 0); shed > 0 {
		t.Errorf("the backend is calm: %d calls were shed", shed)
	}
}

// TestMonitor_blocksOfReports wants that a time in which the backend was overloaded is no measure of the demand: what
// was shed because it said so is not in the counts.
func TestMonitor_blocksOfReports(t *testing.T) {
	for _, overloaded := range []bool{false, true} {
		m := newMonitor(10 * time.Second)
		m.at, m.ever = time.Minute, tier(100, 0, 0)
		if m.stayQuiet(&observation{said: feedback.Summary{Overloaded: overloaded}}); (m.quiet.known > 0) == overloaded {
			t.Errorf("overloaded %v: got %d blocks", overloaded, m.quiet.known)
		}
	}
}

// TestStats_calm knows a calm backend with any window: the longest bucket has half a minute.
func TestStats_calm(t *testing.T) {
	w := newWatched(t, Config{Window: time.Hour})
	for second := range 40 {
		w.playSaying(LoadReport{}, time.Second, 10, 0)
		wantSame(t, fmt.Sprint("received in second ", second), w.Stats().Received.String(), "calm")
	}
	w.now = w.now.Add(feedback.Lasting + time.Second)
	wantSame(t, "received later", w.Stats().Received.String(), "unknown")
}

// TestMonitor_calm wants that errors which come with more calls are forgiven while the backend says that it
// is calm, up to the share at which they are tried. With as many calls as before, a trial finds out.
func TestMonitor_calm(t *testing.T) {
	for _, c := range []struct {
		rate, failing, most float64 // share of the calls that is shed
		alert               string
	}{{200, 0.1, 0, ""}, {200, 0.2, 0, ""}, {200, 0.45, 0.05, "trial"}, {200, 0.9, 1, "ratio"}, {100, 0.1, 0, ""}, {100, 0.25, 0.05, "trial"}} {
		w := newWatched(t, Config{})
		w.playSaying(LoadReport{}, time.Minute, 100, 0)
		shed := w.playSaying(LoadReport{}, 9*time.Second, c.rate, c.failing)
		if early := w.alerts(); c.failing < 0.5 && early != "" {
			t.Errorf("%+v: got alerts %q in 9 s", c, early)
		}
		shed += w.playSaying(LoadReport{}, 51*time.Second, c.rate, c.failing)
		part := float64(shed) / (60 * c.rate)
		if first, _, _ := strings.Cut(w.alerts(), " "); first != c.alert || part > c.most {
			t.Errorf("%+v: got alerts %q and %.3f shed", c, w.alerts(), part)
		}
	}
}
