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

// hear makes calls of Low for some time, to a server that says r with each answer, and rejects a share of
// them.
func (l *lab) hear(length time.Duration, r LoadReport, rejected float64) (sent, shed int) {
	const every = 10 * time.Millisecond
	for range length / every {
		l.now = l.now.Add(every)
		err := l.Do(context.Background(), Low, func(context.Context) error {
			l.Hear(r)
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

// TestThrottle_Hear has a policy that sheds nothing itself.
func TestThrottle_Hear(t *testing.T) {
	var events []ShedEvent
	l := newLab(t, 1, Config{Policy: SRE, Ratio: 1e6, Hooks: Hooks{
		Shed: func(_ context.Context, e ShedEvent) { events = append(events, e) },
	}})
	l.hear(6*time.Second, sheddingLow(), 0.8)
	s := l.Stats()
	low, high := &s.Priorities[Low], &s.Priorities[High]
	if low.Told < 0.8 || low.Told > 0.951 {
		t.Errorf("told of Low: got %.3f want 0.8 to 0.95", low.Told)
	}
	wantSame(t, "told of High", high.Told, 0)
	wantSame(t, "probability", low.Probability, low.Told)
	wantSame(t, "probability of High", high.Probability, 0)
	wantSame(t, "cause", low.Cause, CauseTold)
	wantSame(t, "heard", s.Heard, HeardStats{Known: true, Overloaded: true})
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
	l.hear(3*time.Second, LoadReport{}, 0)
	wantSame(t, "told, after the recovery", l.Stats().Priorities[Low].Told, 0)
}

// TestThrottle_Hear_more wants the larger probability, with its cause.
func TestThrottle_Hear_more(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE})
	l.run(time.Minute, &load{priority: Low, every: 10 * time.Millisecond, failing: 1})
	for range 3 {
		l.now = l.now.Add(100 * time.Millisecond)
		l.Hear(sheddingLow())
	}
	low := l.Stats().Priorities[Low]
	if low.Told < 0.05 || low.Told > 0.5 || low.Probability < 0.95 || low.Cause != CauseOwn {
		t.Errorf("all calls are rejected: told %.3f, got %.3f, cause %v", low.Told, low.Probability, low.Cause)
	}
}

// TestThrottle_Hear_silence wants probes, and no shedding 5 s after the last report.
func TestThrottle_Hear_silence(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE, Ratio: 1e6, Window: time.Hour}) // each bucket is 30 s long
	l.hear(6*time.Second, sheddingLow(), 0.8)
	if p := l.RejectionProbability(Low); p < 0.8 {
		t.Fatalf("got probability %.3f want more", p)
	}
	l.now = l.now.Add(5 * time.Second)
	wantSame(t, "probability after 5 s", l.RejectionProbability(Low), 0)
	wantSame(t, "admitted", l.call(Low, nil), true)
	wantSame(t, "a decision is needed", l.decisions.NeedsDecision(), l.Stats().Priorities[Low].Window.Rejected > 0)
}

// TestThrottle_Hear_lies has a server that says that it sheds, and serves everything.
func TestThrottle_Hear_lies(t *testing.T) {
	l := newLab(t, 1, Config{})
	sent, shed := l.hear(time.Minute, sheddingLow(), 0)
	if shed*100 > sent {
		t.Errorf("%d of %d calls were shed, want hardly any", shed, shed+sent)
	}
	wantSame(t, "doubted", l.Stats().Heard.Doubted, true)
}

// TestThrottle_Hear_modes lets calls through that ModeEnforce would shed.
func TestThrottle_Hear_modes(t *testing.T) {
	for _, mode := range []Mode{ModeShadow, ModeOff} {
		l := newLab(t, 1, Config{Mode: mode, Policy: SRE, Ratio: 1e6})
		_, shed := l.hear(10*time.Second, sheddingLow(), 0.8)
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

func TestThrottle_heardLoad(t *testing.T) {
	l := newLab(t, 1, Config{})
	want := func(what string, wantCalm, wantOverloaded, wantKnown bool) {
		t.Helper()
		calm, overloaded, known := l.heardLoad(l.elapsed())
		if calm != wantCalm || overloaded != wantOverloaded || known != wantKnown {
			t.Errorf("%s: got calm %v, overloaded %v, known %v", what, calm, overloaded, known)
		}
	}
	want("nothing was heard", false, false, false)
	l.hear(time.Second, LoadReport{}, 0)
	want("calm", true, false, true)
	l.hear(3*time.Second, sheddingLow(), 0.8)
	want("overloaded", false, true, true)
	l.hear(3*time.Second, LoadReport{}, 0)
	want("calm again", true, false, true)
	l.now = l.now.Add(6 * time.Second)
	want("silence", false, false, false)
	(*Throttle)(nil).Hear(LoadReport{})
}

func TestHeardStats_String(t *testing.T) {
	for word, h := range map[string]HeardStats{
		"unknown":    {Doubted: true},
		"calm":       {Known: true, Calm: true},
		"mixed":      {Known: true},
		"overloaded": {Known: true, Overloaded: true},
		"doubted":    {Known: true, Doubted: true},
	} {
		wantSame(t, word, h.String(), word)
	}
}
