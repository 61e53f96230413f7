package processor

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// full is a scheduler with very many runnable goroutines.
func full(float64) (runnable, processors int, turns float64) { return 1000, 2, 8 }

// idle is one with none.
func idle(float64) (runnable, processors int, turns float64) { return 0, 2, 8 }

// newProcess returns a process whose ticks the test makes.
func newProcess(read func(float64) (runnable, processors int, turns float64)) *Process {
	p := New(read)
	p.state.Store(calm)
	return p
}

// play makes ticks until a time. Each has a call of every priority from High to Low.
func play(p *Process, d *Demand, from, until time.Duration) {
	for at := from; at <= until; at += tick {
		for priority := range 4 {
			d.Enter(int(at/tick), priority)
		}
		p.tick(at)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func TestProcess_shedsLowestFirst(t *testing.T) {
	p := newProcess(full)
	d := p.Demand(20*time.Millisecond, false)
	equal(t, "probability before the first tick", d.Enter(0, 3), 0)
	seen := 0.0
	for at := tick; at < time.Second; at += tick {
		play(p, d, at, at)
		s := p.State()
		for priority := range 3 {
			if s.Drops[priority] > 0 && s.Drops[priority+1] < 1 {
				t.Fatalf("after %v: got probabilities %v: want 1 for all below the highest that is shed", at, s.Drops[:4])
			}
		}
		seen = max(seen, s.Drops[3])
	}
	if s := p.State(); seen != 1 || s.Share < 0.5 || s.Wait < 100*time.Millisecond || s.Processors != 2 || s.Runnable != 1000 {
		t.Errorf("after 1 s: got %+v and a highest probability of %v of Low", s, seen)
	}
}

// TestProcess_rests stops after a second without a call, and forgets what was.
func TestProcess_rests(t *testing.T) {
	p := newProcess(full)
	d := p.Demand(20*time.Millisecond, false)
	play(p, d, tick, time.Second)
	if d.Enter(0, 3) == 0 {
		t.Fatal("got probability 0 after a second want more")
	}
	for at := time.Second + tick; at <= 2*time.Second+5*tick; at += tick {
		equal(t, "tick at "+at.String(), p.tick(at), at <= 2*time.Second+tick)
	}
	equal(t, "probability after a rest", d.Enter(0, 3), 0)
}

// TestDemand_Share ends the queue: a moment without shedding does not end the overload, but half a second does.
func TestDemand_Share(t *testing.T) {
	runnable := 1000
	p := newProcess(func(float64) (int, int, float64) { return runnable, 2, 8 })
	d := p.Demand(20*time.Millisecond, false)
	play(p, d, tick, time.Second)
	runnable = 0
	at := time.Second
	for d.Drop(3) > 0 && at < 10*time.Second {
		at += tick
		play(p, d, at, at)
	}
	if share := d.Share(); share <= 0 {
		t.Errorf("nothing is shed: got share %v, want more than 0", share)
	}
	play(p, d, at, at+time.Second/2)
	equal(t, "share after half a second", d.Share(), 0)
}

// TestProcess_shadow has calls of ModeShadow. They have probabilities, and change those of others in
// nothing.
func TestProcess_shadow(t *testing.T) {
	alone, both := newProcess(full), newProcess(full)
	a, b := alone.Demand(20*time.Millisecond, false), both.Demand(20*time.Millisecond, false)
	shadow := both.Demand(time.Millisecond, true)
	for at := tick; at < time.Second; at += tick {
		for range 10 {
			shadow.Enter(0, 3)
		}
		play(alone, a, at, at)
		play(both, b, at, at)
	}
	equal(t, "with calls of ModeShadow", both.State(), alone.State())
	only := newProcess(full)
	d := only.Demand(20*time.Millisecond, true)
	play(only, d, tick, time.Second)
	if drop := d.Enter(0, 3); drop == 0 || !d.Shadow() {
		t.Errorf("only ModeShadow: got probability %v and Shadow %v want more than 0 and true", drop, d.Shadow())
	}
}

// TestProcess_smallestAim has two settings. The smaller one that calls come with applies.
func TestProcess_smallestAim(t *testing.T) {
	p := newProcess(idle)
	small, large := p.Demand(50*time.Millisecond, false), p.Demand(200*time.Millisecond, false)
	equal(t, "counters of the same setting", p.Demand(50*time.Millisecond, false), small)
	aim := func(at time.Duration, calls ...*Demand) time.Duration {
		for _, d := range calls {
			d.Enter(0, 0)
		}
		p.tick(at)
		return p.State().Aim.Round(time.Millisecond)
	}
	equal(t, "both", aim(tick, small, large), 50*time.Millisecond)
	equal(t, "the larger one alone", aim(3*time.Second, large), 200*time.Millisecond)
}

// TestProcess_bubble serves calls in a bubble of testing/synctest: no timer is left, and nothing is shed.
func TestProcess_bubble(t *testing.T) {
	p := New(full)
	d := p.Demand(20*time.Millisecond, false)
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			equal(t, "probability", d.Enter(0, 3), 0)
			time.Sleep(tick)
		}
	})
	equal(t, "state of the timer", p.state.Load(), stopped)
}

// TestDemand_open counts open calls until they end, or are old.
func TestDemand_open(t *testing.T) {
	p := newProcess(idle)
	d := p.Demand(20*time.Millisecond, false)
	if c := d.Begin(1); c != 0 || d.open() != 0 {
		t.Errorf("calm: got call %d and %d open want 0", c, d.open())
	}
	p.state.Store(crowded)
	p.advance(0)
	var calls []Call
	for range 3 {
		calls = append(calls, d.Begin(1))
	}
	d.End(1, calls[0])
	equal(t, "open calls", d.open(), 2)
	p.advance(10 * time.Second)
	d.Begin(1)
	d.End(1, calls[1]) // too old to count
	equal(t, "after 10 s", d.open(), 1)
}

// TestProcess_lateTimer has a timer that does not come, because its goroutine waits for a processor. While calls
// wait, the next one of any stripe and priority does the tick.
func TestProcess_lateTimer(t *testing.T) {
	p := newProcess(full)
	d := p.Demand(20*time.Millisecond, false)
	base := time.Now().Add(-time.Second)
	p.base.Store(&base)
	p.state.Store(crowded)
	d.Enter(5, 1)
	if got := time.Duration(p.last.Load()); got < time.Second {
		t.Errorf("got the last tick at %v, want it at the call", got)
	}
}

// TestProcess_concurrent makes calls and ticks at the same time, and reads the state.
func TestProcess_concurrent(t *testing.T) {
	p := New(full)
	d := p.Demand(20*time.Millisecond, false)
	var wg sync.WaitGroup
	for stripe := range 4 {
		wg.Go(func() {
			for range 20_000 {
				if drop := d.Enter(stripe, 3); !(drop >= 0 && drop <= 1) {
					t.Errorf("got probability %v", drop)
				}
				d.End(stripe, d.Begin(stripe))
				p.Demand(time.Duration(stripe+1)*time.Millisecond, false)
			}
		})
	}
	wg.Wait()
	if s := p.State(); math.IsNaN(s.Share) {
		t.Errorf("got %+v", s)
	}
	equal(t, "open calls", d.open(), 0)
}

// TestShared reads the scheduler of this test.
func TestShared(t *testing.T) {
	if first := Shared(); first == nil || first != Shared() {
		t.Fatal("got no process, or two")
	}
	var s scheduler
	if missing := s.open(); missing != "" {
		t.Fatalf("got missing metric %s", missing)
	}
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {})
	}
	wg.Wait()
	if runnable, processors, turns := s.read(0); runnable < 0 || processors < 1 || turns < 0 {
		t.Errorf("got %d runnable goroutines, %d processors, %v turns", runnable, processors, turns)
	}
}

// TestProcess_forgets has settings that no throttle uses any more.
func TestProcess_forgets(t *testing.T) {
	p := newProcess(idle)
	for i := range 1000 {
		p.Demand(time.Second+time.Duration(i), false)
	}
	kept := p.Demand(20*time.Millisecond, false)
	runtime.GC()
	p.Demand(time.Minute, false)
	if n := len(p.demands); n > 3 { // the stack may hold one
		t.Errorf("got the counters of %d settings, want those in use", n)
	}
	equal(t, "counters in use", p.Demand(20*time.Millisecond, false), kept)
}
