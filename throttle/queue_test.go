package throttle

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/late"
)

func TestSmoothed(t *testing.T) {
	var s smoothed
	s.add(time.Second, 1, 2)
	s.add(-time.Hour, 5, 2)
	s.at = time.Second
	wantNear(t, "mean", s.add(3*time.Second, 0, 2), (1-math.Exp(-0.5))*math.Exp(-1))
}

// TestGate_measureQueue: four calls are open. The mean is that of T, or of the time in which five calls are accepted.
func TestGate_measureQueue(t *testing.T) {
	for _, c := range []struct{ rate, seconds, length float64 }{
		{20, 0.1, 2}, {100, 0.1, 0.4}, {20, 0.25, 2}, {1, 5, 4}, {0, 5, 4},
	} {
		w := &watch{slow: 100 * time.Millisecond, ring: late.New(100*time.Millisecond, 1, 1), gate: &gate{}}
		for range 4 {
			w.ring.Begin(0, 0, 0)
		}
		w.gate.measureQueue(time.Duration(c.seconds*float64(time.Second)), w, c.rate)
		mean := max(0.1, 5/max(1, c.rate))
		wantNear(t, fmt.Sprintf("%+v", c), math.Float64frombits(w.gate.queueLength.Load()), c.length*(1-math.Exp(-c.seconds/mean)))
		wantNear(t, fmt.Sprintf("%+v, lasting", c), w.gate.lasting.value, c.length*(1-math.Exp(-c.seconds/2)))
	}
}

// TestQueue_late: late calls that counted as rejected matter while the window has them.
func TestQueue_late(t *testing.T) {
	l := newLab(t, 1, Config{Slow: 100 * time.Millisecond})
	for _, booked := range []time.Duration{0, time.Hour, time.Minute} { // of a clock that is set back too
		l.now = time.Unix(0, 0).Add(booked)
		for range 3 {
			Must(l.Admit(t.Context(), Low))
		}
		for age := time.Second; age < 30*time.Second; age += time.Second {
			l.now = time.Unix(0, 0).Add(booked + age)
			held := l.Stats().Priorities[Low].Window.Rejected > 0
			wantSame(t, fmt.Sprintf("late %v after %v, as the window", age, booked), l.queue().late, held)
		}
	}
}

// TestQueue_booked: a late call that is rejected counts once, also if a learned Slow finds a queue, or that it is over,
// before the call ends.
func TestQueue_booked(t *testing.T) {
	for _, full := range []bool{false, true} {
		l := newLab(t, 1, Config{SlowAuto: true, SlowGate: ModeOff, Rand: func() float64 { return 1 }})
		for range 200 {
			call := Must(l.Admit(t.Context(), Low))
			l.now = l.now.Add(10 * time.Millisecond)
			call.Done(nil)
		}
		g := l.watch.Load().gate
		find := func(full bool) {
			g.backlog = backlog{found: full, seen: l.elapsed(), since: l.elapsed()}
			g.full.Store(full)
		}
		for _, late := range []time.Duration{time.Second, time.Minute} { // the second ones are written off
			var calls []Call
			for range 3 {
				calls = append(calls, Must(l.Admit(t.Context(), Low)))
			}
			find(full)
			before := l.Stats().Priorities[Low].Ended.Outcome(Rejected)
			counted := l.window.Total(int(Low), saidFull) + l.window.Total(int(Low), turnedDown)
			l.now = l.now.Add(late)
			find(full)
			_ = l.Stats()
			find(!full)
			for _, call := range calls {
				call.Finish(Rejected)
			}
			find(full)
			rejected := l.Stats().Priorities[Low].Ended.Outcome(Rejected) - before
			counted = l.window.Total(int(Low), saidFull) + l.window.Total(int(Low), turnedDown) - counted
			wantSame(t, fmt.Sprintf("counted of %d rejected after %v, full %v", rejected, late, full), counted, 3)
		}
	}
}
