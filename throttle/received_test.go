package throttle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// sheddingLow is the report of a server that sheds most calls of Low.
func sheddingLow() LoadReport {
	r := LoadReport{Overloaded: true, Utilization: 2}
	r.Shed[Low] = 0.9
	return r
}

// receive makes calls of Low for some time, to a server that says r with each answer, and rejects a share of
// them.
func (l *lab) receive(length time.Duration, r LoadReport, rejected float64) (sent, shed int) {
	const every = 10 * time.Millisecond
	for range length / every {
		l.now = l.now.Add(every)
		err := l.Do(context.Background(), Low, func(context.Context) error {
			l.ReceiveLoad(r)
			if l.dice.Float64() < rejected {
				return MarkOverloaded(errNoProduct)
			}
			return nil
		})
		if sent++; errors.Is(err, ErrShed) {
			sent, shed = sent-1, shed+1
		}
	}
	return sent, shed
}

// TestThrottle_ReceiveLoad has a policy that sheds nothing itself.
func TestThrottle_ReceiveLoad(t *testing.T) {
	var events []ShedEvent
	l := newLab(t, 1, Config{Policy: SRE, Ratio: 1e6, Hooks: Hooks{
		Shed: func(_ context.Context, e ShedEvent) { events = append(events, e) },
	}})
	l.receive(6*time.Second, sheddingLow(), 0.8)
	s := l.Stats()
	low, high := &s.Priorities[Low], &s.Priorities[High]
	if low.Told < 0.8 || low.Told > 0.951 {
		t.Errorf("told of Low: got %.3f want 0.8 to 0.95", low.Told)
	}
	wantSame(t, "told of High", high.Told, 0)
	wantSame(t, "probability", low.Probability, low.Told)
	wantSame(t, "probability of High", high.Probability, 0)
	wantSame(t, "cause", low.Cause, CauseTold)
	wantSame(t, "received", s.Received, ReceivedStats{Known: true, Overloaded: true})
	wantSame(t, "shed in the window", low.Window.Shed, 0)
	wantSame(t, "shed", low.Shed.Count(CauseTold), uint64(len(events)))
	wantSame(t, "all sheds", low.Shed.Sum(), uint64(len(events)))
	last := events[len(events)-1]
	if len(events) < 100 || last.Cause != CauseTold || last.Probability < 0.8 {
		t.Errorf("got %d events, the last one %v", len(events), last)
	}
	shed := l.shedErrs[CauseTold][Low]
	if text := shed.Error(); !errors.Is(shed, ErrShed) || !strings.Contains(text, "the backend says that it sheds") {
		t.Errorf("got error %q", text)
	}
	l.receive(3*time.Second, LoadReport{}, 0)
	wantSame(t, "told, after the recovery", l.Stats().Priorities[Low].Told, 0)
}

// TestThrottle_ReceiveLoad_more wants the larger probability, with its cause.
func TestThrottle_ReceiveLoad_more(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE})
	l.run(time.Minute, &load{priority: Low, every: 10 * time.Millisecond, failing: 1})
	for range 3 {
		l.now = l.now.Add(100 * time.Millisecond)
		l.ReceiveLoad(sheddingLow())
	}
	low := l.Stats().Priorities[Low]
	if low.Told < 0.05 || low.Told > 0.5 || low.Probability < 0.95 || low.Cause != CauseOwn {
		t.Errorf("all calls are rejected: told %.3f, got %.3f, cause %v", low.Told, low.Probability, low.Cause)
	}
}

// TestThrottle_ReceiveLoad_silence wants probes, and no shedding 5 s after the last report.
func TestThrottle_ReceiveLoad_silence(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE, Ratio: 1e6, Window: time.Hour}) // each bucket is 30 s long
	l.receive(6*time.Second, sheddingLow(), 0.8)
	if p := l.RejectionProbability(Low); p < 0.8 {
		t.Fatalf("got probability %.3f want more", p)
	}
	l.now = l.now.Add(5 * time.Second)
	wantSame(t, "probability after 5 s", l.RejectionProbability(Low), 0)
	wantSame(t, "admitted", l.call(Low, nil), true)
	wantSame(t, "a decision is needed", l.decisions.NeedsDecision(), l.Stats().Priorities[Low].Window.Rejected > 0)
}

// TestThrottle_ReceiveLoad_modes lets calls through that ModeEnforce would shed.
func TestThrottle_ReceiveLoad_modes(t *testing.T) {
	for _, mode := range []Mode{ModeShadow, ModeOff} {
		l := newLab(t, 1, Config{Mode: mode, Policy: SRE, Ratio: 1e6})
		_, shed := l.receive(10*time.Second, sheddingLow(), 0.8)
		wantSame(t, "shed", shed, 0)
		low := l.Stats().Priorities[Low]
		would := low.ShadowShed.Cause(CauseTold).Sum()
		if mode == ModeOff {
			wantSame(t, "would have been shed", would, 0)
			continue
		}
		if would < 500 || low.Shed.Sum() > 0 || low.Window.Shed > 0 || low.InFlight != 0 {
			t.Errorf("%v: got %d calls that would have been shed, stats %+v", mode, would, low)
		}
		if low.Told < 0.8 || low.Told > 0.91 {
			t.Errorf("%v: told: got %.3f want 0.9", mode, low.Told)
		}
	}
}
