package throttle

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// TestMonitor_memory remembers an alert from its begin on, after a window of it, and up to six windows.
func TestMonitor_memory(t *testing.T) {
	m := newMonitor(10 * time.Second)
	made := func(n uint64) *observation { return &observation{totals: []window.Counts{tier(n, 0, 0)}} }
	m.begin(RatioAlert, made(100))
	for _, c := range []struct {
		at    time.Duration
		calls uint64 // until then
		want  uint64 // calls when what is remembered began; 0 if nothing is
	}{{5, 150, 0}, {10, 200, 100}, {29, 390, 100}, {30, 400, 100}, {59, 690, 100}, {60, 700, 400}, {90, 1000, 700}} {
		m.at = c.at * time.Second
		m.remember(made(c.calls))
		if m.memory == nil && c.want != 0 || m.memory != nil && m.memory[0].Accepted != c.want {
			t.Errorf("after %d s: got %v want %d calls before", c.at, m.memory, c.want)
		}
	}
	if m.calm(false); m.memory != nil || m.mark != nil {
		t.Error("a quiet throttle remembers an alert")
	}
	m.begin(GrowthAlert, made(1000))
	m.at += time.Minute
	if m.remember(made(1100)); m.memory != nil {
		t.Error("an alert because of more demand remembers calls")
	}
}

// TestTiered_memory sheds Low by what is known of its rejections for long. By those of the window, which are
// few, it seems to have another backend.
func TestTiered_memory(t *testing.T) {
	begun := &tierTotals{tier(1000, 0, 0), tier(1000, 0, 0)}
	r := &window.Reading{
		Span:   []window.Counts{tier(10, 4, 0), tier(4, 0, 20)},
		Recent: []window.Counts{tier(2, 1, 0), tier(1, 0, 4)},
		Ever:   []window.Counts{tier(1060, 24, 0), tier(1024, 10, 100)},
	}
	shed := func(s stance) float64 {
		estimates := make([]estimate, 2)
		tiered(r, &s, &terms{k: 2, target: 0.1, padding: 10}, estimates)
		return estimates[1].probability
	}
	with := shed(stance{alert: RatioAlert, memory: begun})
	without := shed(stance{alert: RatioAlert})
	if with < without+0.05 {
		t.Errorf("got %.3f with a memory, and %.3f without, want clearly more", with, without)
	}
	inTrial := stance{alert: RatioAlert, hold: sparing}
	without = shed(inTrial)
	inTrial.memory = begun
	wantSame(t, "during a trial, as without a memory", shed(inTrial), without)
}

// TestPool_usualShare takes the share that is remembered, unless that of the window differs by more than chance.
func TestPool_usualShare(t *testing.T) {
	known := []window.Counts{tier(100, 100, 200)}
	for accepted, want := range map[float64]float64{25: 0.25, 38: 0.25, 12: 0.25, 45: 0.45, 5: 0.05} {
		o := pool{known: known, counted: 1, accepted: accepted, asked: 100}
		wantNear(t, fmt.Sprint("accepted of 100 calls of the window: ", accepted), o.usualShare(), want)
	}
}
