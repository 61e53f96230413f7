package statusz

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestRegistry_sums has a row of two open throttles, a closed one, and one whose Stats panicked. A closed one counts only what it has
// counted. Of open ones, the row has the sum, the worst, or the setting if it is the same.
func TestRegistry_sums(t *testing.T) {
	slow := func(s, oldest time.Duration, open int64) throttle.SlowStats {
		return throttle.SlowStats{Slow: s, Learned: s / 2, Oldest: oldest, Open: open, WrittenOff: open, Gate: throttle.ModeOff}
	}
	late := []throttle.PriorityStats{{Slow: throttle.SlowTotals{Late: 1}}}
	first := throttle.Stats{
		Policy: throttle.SRE, Mode: throttle.ModeShadow, Ratio: 3, Slow: slow(2*time.Second, time.Second, 1), ProcessorWait: time.Second, Exempt: 2,
		SendsLoad: true, Received: throttle.ReceivedStats{Known: true, Overloaded: true}, Priorities: late,
	}
	second := throttle.Stats{
		Policy: throttle.SRE, Ratio: 2, Slow: slow(time.Second, 3*time.Second, 2), ProcessorWait: 20 * time.Millisecond, Exempt: 1,
		SendsLoad: true, Received: throttle.ReceivedStats{Known: true, Calm: true}, Priorities: late,
	}
	second.Load.Overloaded, second.Slow.Closed, second.Slow.Full = true, true, true
	closed := second
	closed.Slow, closed.ProcessorWait, closed.Exempt = slow(time.Hour, time.Hour, 100), time.Millisecond, 100
	var row rowStats
	row = row.with(&memberStats{stats: first, ok: true}, true)
	row = row.with(&memberStats{stats: second, ok: true}, true)
	row = row.with(&memberStats{stats: closed, ok: true}, false)
	row = row.with(&memberStats{}, true)
	doc := documentOf(&row)
	want := headDocument{
		Policy: "sre", Mode: "mixed", Mixed: true, Instances: 3, Ratio: 3, Alert: "none", ProcessorWait: 0.02, Exempt: 103,
		LoadSent: "overloaded", LoadReceived: "overloaded",
	}
	if doc.headDocument != want {
		t.Errorf("got %+v\nwant %+v", doc.headDocument, want)
	}
	if want := (slowDocument{Threshold: 2, Gate: "off", Closed: true, Open: 3, Oldest: 3, WrittenOff: 3, Learned: 1, Full: true}); *doc.Slow != want {
		t.Errorf("got %+v\nwant %+v", *doc.Slow, want)
	}
	if got, want := *doc.Priorities[0].Slow, (slowCallsDocument{Late: 3}); got != want {
		t.Errorf("got %+v want %+v", got, want)
	}
}
