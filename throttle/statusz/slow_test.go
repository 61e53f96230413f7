package statusz

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestSlow_sumsOfARow has two throttles with Slow of one name, and closes one.
func TestSlow_sumsOfARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		one := newThrottle(t, p, throttle.Config{Name: "db", Slow: 100 * time.Millisecond, SlowGate: throttle.ModeOff})
		two := newThrottle(t, p, throttle.Config{Name: "db", Slow: 2 * time.Second})
		call := throttle.Must(one.Admit(t.Context(), throttle.Low))
		show(t, p)
		time.Sleep(sampleInterval / 2)
		other := throttle.Must(two.Admit(t.Context(), throttle.Low))
		tick()
		row := find(t, show(t, p), "db")
		want := slowDocument{Threshold: 2, Gate: "off", Open: 2, Oldest: 1}
		if row.Slow == nil || *row.Slow != want || !row.Mixed {
			t.Errorf("got %+v, mixed %v, want %+v, mixed", row.Slow, row.Mixed, want)
		}
		if got, want := *row.Priorities[throttle.Low].Slow, (slowCallsDocument{Late: 1}); got != want {
			t.Errorf("Low: got %+v want %+v", got, want)
		}
		call.Done(nil)
		_ = one.Close()
		tick()
		row = find(t, show(t, p), "db")
		if row.Slow.Threshold != 2 || row.Slow.Open != 1 || row.Slow.Gate != "enforce" || row.Priorities[throttle.Low].Slow.Late != 1 {
			t.Errorf("after one is closed: got %+v and %+v", row.Slow, row.Priorities[throttle.Low].Slow)
		}
		other.Done(nil)
	})
}
