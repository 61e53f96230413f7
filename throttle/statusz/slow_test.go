package statusz

import (
	"fmt"
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

// TestSlow_stream: what Slow does is a part of an event if it has changed, and null when Slow is turned off.
func TestSlow_stream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		th := newThrottle(t, p, throttle.Config{Name: "db", Priorities: 1, Slow: 100 * time.Millisecond})
		viewer := host(t, p).subscribe(t)
		_, data, err := viewer.next()
		if err != nil {
			t.Fatal(err)
		}
		const state = "map[auto:false calls:[map[booked:0 late:%d limit:0 would_refuse:0 written_off:0]] " +
			"closed:false full:false gate:enforce learned_seconds:0 oldest_seconds:0 open:0 threshold_seconds:0.1 written_off:0]"
		if got, want := fmt.Sprint(data["throttles"].([]any)[0].(map[string]any)["slow"]), fmt.Sprintf(state, 0); got != want {
			t.Errorf("snapshot: got %s want %s", got, want)
		}
		expect := func(moment, want string) {
			t.Helper()
			_, data, err := viewer.next()
			if got := fmt.Sprint(data["slow"]); err != nil || got != want {
				t.Errorf("%s: got slow %s, %v want %s", moment, got, err, want)
			}
		}
		expect("nothing new", "<nil>")
		c := throttle.Must(th.Admit(t.Context(), throttle.High))
		time.Sleep(sampleInterval / 2)
		th.Stats()
		c.Done(nil)
		expect("a late call", "[map[id:1 slow:"+fmt.Sprintf(state, 1)+"]]")
		_ = th.Tune(throttle.Patch{Slow: new(throttle.Duration(0))})
		expect("off", "[map[id:1 slow:<nil>]]")
		expect("nothing new", "<nil>")
	})
}
