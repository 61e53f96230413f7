package throttle

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// watched is a lab with the policy Tiered that records its alerts.
type watched struct {
	*lab
	changes []PolicyEvent
}

func newWatched(t *testing.T, c Config) *watched {
	t.Helper()
	w := &watched{}
	c.Policy = Tiered
	c.Hooks.PolicyChanged = func(_ context.Context, e PolicyEvent) { w.changes = append(w.changes, e) }
	w.lab = newLab(t, 1, c)
	return w
}

// play makes rate calls per second, of which a tenth is High and the others are Low, and returns how
// many were shed.
func (w *watched) play(length time.Duration, rate, failing float64) int {
	high := &load{priority: High, every: perSecond(rate / 10), failing: failing}
	low := &load{priority: Low, every: perSecond(rate * 9 / 10), failing: failing, from: time.Millisecond}
	w.run(length, high, low)
	return high.shed + low.shed
}

// alerts returns the reasons of the changes.
func (w *watched) alerts() string {
	var words []string
	for _, e := range w.changes {
		words = append(words, e.After.Alert.String())
	}
	return strings.Join(words, " ")
}

func (w *watched) want(t *testing.T, alerts string, background float64) {
	t.Helper()
	s := w.Stats().State
	if got := w.alerts(); got != alerts || math.Abs(s.Background-background) > 0.02 {
		t.Errorf("got alerts %q and background %.3f want %q and %.3f", got, s.Background, alerts, background)
	}
}

// TestMonitor_begin begins an alert after a quiet time with 10 % of errors.
func TestMonitor_begin(t *testing.T) {
	for name, c := range map[string]struct {
		rate, failing, background float64
		want                      string
	}{
		"more calls are made":              {110, 0.1, 0.1, ""},
		"a few more calls are rejected":    {110, 0.3, 0.26, "trial none"},
		"more calls are made and rejected": {150, 0.3, 0.22, "trial none"},
		"much more":                        {300, 0.6, 0.1, "ratio"},
		"most calls are rejected":          {100, 0.7, 0.1, "ratio"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, Config{})
			w.play(90*time.Second, 100, 0.1)
			w.play(8*time.Second, c.rate, c.failing)
			w.want(t, c.want, c.background)
			if inAlert := w.Stats().State.Alert != NoAlert; inAlert && w.now.Sub(w.Stats().State.Since) > 8*time.Second {
				t.Errorf("the alert began at %v, %v before the rejections", w.Stats().State.Since, 8*time.Second)
			}
		})
	}
}

// TestMonitor_background checks that rejections from before the alert are forgiven, and those after
// its begin are not.
func TestMonitor_background(t *testing.T) {
	for _, c := range []struct{ configured, tuned, want float64 }{{0, 0, 0.2}, {0.3, 0, 0.2}, {0, 0.1, 0.1}, {0.4, -1, 0}} {
		w := newWatched(t, Config{Background: c.configured})
		wantSame(t, "before any call", w.Stats().State.Background, c.configured)
		w.play(time.Minute, 100, 0.2)
		wantSame(t, "Tune", w.Tune(Patch{Background: new(c.tuned)}), nil)
		w.play(20*time.Second, 300, 0.6)
		w.want(t, "ratio", c.want)
	}
}

// TestMonitor_full begins an alert at a constant load if the backend says that it is full, and not for one
// such rejection in a hundred. Other errors of the same share begin trials.
func TestMonitor_full(t *testing.T) {
	for _, c := range []struct {
		err     error
		failing float64
		want    string
	}{
		{MarkOverloaded(context.DeadlineExceeded), 0.25, "full"},
		{MarkOverloaded(context.DeadlineExceeded), 0.01, ""},
		{context.DeadlineExceeded, 0.25, "trial"},
	} {
		w := newWatched(t, Config{})
		w.play(time.Minute, 100, 0)
		w.failure = c.err
		w.play(sized(10*time.Minute, time.Minute), 100, c.failing)
		if got := strings.TrimSuffix(w.alerts(), " none"); got != c.want && !strings.HasPrefix(got, c.want+" none "+c.want) {
			t.Errorf("%v, %v of the calls: got alerts %q want %q", c.err, c.failing, got, c.want)
		}
	}
}

// TestMonitor_pause ends an alert after a window without calls: at once in the statistics, and for
// the hook with the next call after the end of a bucket.
func TestMonitor_pause(t *testing.T) {
	w := newWatched(t, Config{})
	w.play(time.Minute, 100, 0.1)
	w.play(5*time.Second, 100, 0.9)
	w.want(t, "ratio", 0.1)
	w.now = w.now.Add(9 * time.Second)
	w.want(t, "ratio", 0.1)
	w.now = w.now.Add(2 * time.Second)
	if s := w.Stats().State; s.Alert != NoAlert || s.Background != 0 || w.now.Sub(s.Since) > time.Second {
		t.Errorf("after a window without calls: got %+v at %v want quiet since then", s, w.now)
	}
	w.want(t, "ratio", 0)
	w.now = w.now.Add(w.window.Width())
	w.call(High, nil)
	w.want(t, "ratio none", 0)
	w.play(20*time.Second, 200, 0.3) // it is not known that this is more than before
	w.want(t, "ratio none", 0)
}

// TestMonitor_blocks checks that a quiet time of half a minute is known with any window.
func TestMonitor_blocks(t *testing.T) {
	for _, span := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
		w := newWatched(t, Config{Window: span})
		w.play(25*time.Second, 100, 0.2)
		w.want(t, "", 0)
		w.play(20*time.Second, 100, 0.2)
		w.want(t, "", 0.2)
		if got := w.monitor.quiet.demand(); math.Abs(got-100) > 10 {
			t.Errorf("window %v: got a demand of %.1f calls/s want 100", span, got)
		}
	}
}

// TestMonitor_clockBack forgets everything if the clock jumps back.
func TestMonitor_clockBack(t *testing.T) {
	m := newMonitor(10 * time.Second)
	o := observation{span: tier(1, 99, 0), recent: []window.Counts{tier(1, 99, 0)}, ever: tier(1, 99, 0), ratio: 2, padding: 10}
	m.update(time.Hour, &o, 0)
	if m.alert != RatioAlert {
		t.Fatalf("got %v want an alert", m.alert)
	}
	m.doubtUntil = time.Hour + verdictTime
	if changed := m.update(time.Minute, &o, 0); !changed || m.alert != NoAlert || m.since != time.Minute {
		t.Errorf("got %+v want quiet since then", m.stance)
	}
	if m.at < m.doubtUntil {
		t.Errorf("a calm backend is doubted until %v", m.doubtUntil)
	}
}

// TestMonitor_backgroundAfterErrors keeps a Background that is set in an alert after errors were found, though fewer are
// left of these.
func TestMonitor_backgroundAfterErrors(t *testing.T) {
	m := newMonitor(10 * time.Second)
	m.alert, m.background, m.forgiven = FullAlert, 0.3, 0.3
	o := observation{span: tier(90, 10, 50), recent: []window.Counts{tier(18, 2, 10)}, ever: tier(90, 10, 50), ratio: 2, padding: 10}
	m.update(time.Second, &o, 0.25)
	m.update(2*time.Second, &o, 0.25)
	wantSame(t, "background", m.background, 0.25)
}

// TestMonitor_sharedBackground forgives all rejections during an alert, if Background is their share.
func TestMonitor_sharedBackground(t *testing.T) {
	for _, c := range []struct {
		background float64
		sheds      bool
	}{{0, false}, {0.25, false}, {-1, true}} {
		w := newWatched(t, Config{Background: c.background})
		w.play(time.Minute, 100, 0)
		if shed := w.play(2*time.Minute, 200, 0.2); (shed > 1000) != c.sheds {
			t.Errorf("background %v: %d calls were shed, want some: %v", c.background, shed, c.sheds)
		}
	}
}

// TestMonitor_isBack ends no alert for the demand alone while the backend says that it is full.
func TestMonitor_isBack(t *testing.T) {
	m := newMonitor(10 * time.Second)
	m.grown, m.earlier = true, 100
	o := observation{span: tier(800, 100, 100), recent: []window.Counts{tier(160, 20, 20)}}
	if !m.isBack(&o) {
		t.Error("the demand of before: want it back")
	}
	if o.span.Full = 1; m.isBack(&o) {
		t.Error("the backend says that it is full: want the alert to stay")
	}
}

func TestMonitor_end(t *testing.T) {
	for name, c := range map[string]struct{ rate, failing float64 }{
		"no rejections":                       {100, 0},
		"the demand is back, the errors stay": {100, 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, Config{})
			w.play(time.Minute, 100, 0)
			w.play(30*time.Second, 300, 0.6)
			w.play(25*time.Second, c.rate, c.failing)
			if got := w.alerts(); !strings.HasPrefix(got, "ratio none") {
				t.Errorf("got alerts %q", got)
			}
			if shed := w.play(2*time.Minute, c.rate, c.failing); shed > 150 { // a trial sheds for two seconds
				t.Errorf("%d calls were shed after the alert", shed)
			}
			if e := w.changes[1]; e.After.Since.Sub(e.Before.Since) < 30*time.Second || e.Before.Since.Before(time.Unix(60, 0).Add(-time.Second)) {
				t.Errorf("the alert was from %v to %v", e.Before.Since, e.After.Since)
			}
		})
	}
}

// TestMonitor_endWithLowRatio ends an alert after an overload, however low the Ratio is.
func TestMonitor_endWithLowRatio(t *testing.T) {
	for _, ratio := range []float64{1.01, 1.1} {
		w := newWatched(t, Config{Ratio: ratio})
		w.play(time.Minute, 100, 0)
		w.play(time.Minute, 200, 0.6)
		w.play(4*time.Minute, 200, 0)
		if shed := w.play(time.Minute, 200, 0); shed > 0 || w.Stats().State.Alert != NoAlert {
			t.Errorf("ratio %v: %d calls were shed after four minutes without a rejection, in the state %v", ratio, shed, w.Stats().State)
		}
	}
}
