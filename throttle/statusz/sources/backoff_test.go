package sources

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestBackoff_states has those that the other tests do not reach.
func TestBackoff_states(t *testing.T) {
	traffic := func(over time.Duration, successes, throttled, ignored uint64) backoffChange {
		return backoffChange{change[backoff.Stats]{over: over, now: backoff.Stats{Successes: successes, Throttled: throttled, Ignored: ignored}}}
	}
	delayed := func(c backoffChange) backoffChange { c.now.Delay = 1; return c }
	waiting := func(c backoffChange) backoffChange { c.now.Waiting = 1; return c }
	none, throttled, served := traffic(time.Second, 0, 0, 0), traffic(time.Second, 1, 2, 0), traffic(time.Second, 2, 2, 0)
	for _, tt := range []struct {
		name  string
		view  backoffView
		state string
		level statusz.Level
	}{
		{"ignored", backoffView{traffic(time.Second, 0, 0, 1), none}, "full speed", statusz.OK},
		{"waiting for a time that the service named", backoffView{waiting(none), none}, "waiting", statusz.OK},
		{"some throttled", backoffView{delayed(served), none}, "holding back", statusz.OK},
		{"most throttled, just now", backoffView{delayed(traffic(0, 1, 2, 0)), none}, "throttled most", statusz.Warn},
		{"most throttled, long ago, and not since", backoffView{delayed(served), throttled}, "holding back", statusz.OK},
		{"most throttled, long ago, and ignored since", backoffView{delayed(traffic(time.Second, 0, 0, 9)), throttled}, "throttled most", statusz.Warn},
		{"served, long ago", backoffView{delayed(none), served}, "holding back", statusz.OK},
		{"most throttled, long ago, and no delay", backoffView{none, throttled}, "idle", statusz.OK},
	} {
		if state, level := tt.view.state(); state != tt.state || level != tt.level {
			t.Errorf("%s: got %q and %v want %q and %v", tt.name, state, level, tt.state, tt.level)
		}
	}
}

func end(t *testing.T, r *backoff.Responsive, outcomes ...backoff.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		p, err := r.Wait(t.Context())
		if err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		p.Finish(o)
	}
}

// TestBackoff_showsRecentTraffic reads now and then, as the page does, while a service works, fails with few calls, and works again.
func TestBackoff_showsRecentTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "table", Mode: backoff.Sleep, InitialInterval: time.Minute, RandomizationFactor: -1, DownMultiplier: 0.5, DownMultiplierThreshold: 2,
		}))
		source := Backoff(r)
		want(t, source.Status(), "backoff table", "unknown", statusz.OK, map[string]float64{"delay": 0, "calls": math.NaN(), "successes": 0})
		end(t, r, backoff.Success, backoff.Success, backoff.Ignored)
		time.Sleep(time.Second)
		want(t, source.Status(), "backoff table", "full speed", statusz.OK, map[string]float64{"calls": 3, "successes": 2, "ignored": 1, "slept": 0})

		end(t, r, backoff.Throttled, backoff.Throttled)
		want(t, source.Status(), "backoff table", "throttled most", statusz.Warn, map[string]float64{
			"delay": 90, "throttled": 2, "steps up": 2, "sleeping": 0, "slept": 1, "sleep time": 60, "calls": math.NaN(),
		})
		time.Sleep(30 * time.Second) // without a call
		want(t, source.Status(), "backoff table", "throttled most", statusz.Warn, map[string]float64{"calls": math.NaN()})
		time.Sleep(time.Second)
		want(t, source.Status(), "backoff table", "throttled most", statusz.Warn, map[string]float64{"calls": 0})

		end(t, r, backoff.Success, backoff.Success)
		want(t, source.Status(), "backoff table", "unknown", statusz.OK, map[string]float64{"delay": 0, "steps down": 1, "successes": 4, "slept": 3})
		end(t, r, backoff.Success)
		want(t, source.Status(), "backoff table", "full speed", statusz.OK, map[string]float64{"successes": 5, "slept": 3})
		time.Sleep(time.Hour)
		source.Status()
		time.Sleep(time.Second)
		want(t, source.Status(), "backoff table", "idle", statusz.OK, map[string]float64{"calls": 0, "delay": 0})
	})
}

// TestBackoff_showsWaitingCallers lets calls wait for the time that the service named.
func TestBackoff_showsWaitingCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", RandomizationFactor: -1}))
		source := Backoff(r)
		end(t, r, backoff.ThrottledFor(20*time.Second))
		for range 3 {
			go func() { _, _ = r.Wait(t.Context()) }()
		}
		synctest.Wait()
		want(t, source.Status(), "backoff table", "throttled most", statusz.Warn, map[string]float64{"sleeping": 3, "delay": 0.1})
		r.Reset()
		for range 3 {
			go func() { _, _ = r.Wait(t.Context()) }()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		want(t, source.Status(), "backoff table", "unknown", statusz.OK, map[string]float64{"sleeping": 0, "delay": 0})
	})
}
