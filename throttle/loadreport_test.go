package throttle

import (
	"context"
	"testing"
	"time"
)

func TestThrottle_LoadReport(t *testing.T) {
	report := func(th *Throttle) LoadReport {
		t.Helper()
		r, ok := th.LoadReport()
		wantSame(t, "something to say", ok, true)
		return r
	}
	bothPolicies(t, func(t *testing.T, policy Policy) {
		l := newLab(t, 1, Config{Policy: policy, Window: 10 * time.Second})
		wantSame(t, "new", report(l.Throttle), LoadReport{})
		l.failure = MarkOverloaded(errNoProduct)
		l.run(10*time.Second, &load{priority: High, every: time.Second / 50, failing: 0.02}, &load{priority: Low, every: time.Second / 50, failing: 0.02})
		wantSame(t, "a few errors", report(l.Throttle), LoadReport{})
		l.run(10*time.Second, &load{priority: High, every: time.Second / 50, failing: 0.01}, &load{priority: Low, every: time.Second / 50, failing: 0.9})
		r := report(l.Throttle)
		low := l.RejectionProbability(Low)
		if !r.Overloaded || r.Shed[Low] < 0.3 || r.Shed[Low] > low+0.1 || r.Shed[High] > 0.01 || r.Utilization < 1.2 || r.Utilization > 4 {
			t.Errorf("overloaded: got %+v, want a share of Low of about %.2f", r, low)
		}
		for _, mode := range []Mode{ModeShadow, ModeOff} {
			wantSame(t, "Tune", l.Tune(Patch{Mode: &mode}), nil)
			r, ok := l.LoadReport()
			wantSame(t, mode.String(), r, LoadReport{})
			wantSame(t, mode.String()+": something to say", ok, false)
		}
	})
}

// TestThrottle_LoadReport_errors has a server with errors that are no overload. Tiered sheds some calls for
// them, and must not make its clients do so too.
func TestThrottle_LoadReport_errors(t *testing.T) {
	l := newLab(t, 1, Config{})
	l.run(time.Minute, &load{priority: Medium, every: time.Second / 100, failing: 0.3})
	r, ok := l.LoadReport()
	wantSame(t, "something to say", ok, true)
	wantSame(t, "report", r, LoadReport{})
}

// TestThrottle_LoadReport_processor has calls that wait for a processor.
func TestThrottle_LoadReport_processor(t *testing.T) {
	th := Must(New(Config{Name: "shop"}))
	overloaded(t, th, false)
	r, _ := th.LoadReport()
	wantSame(t, "without calls that it serves", r, LoadReport{})
	_, _ = th.AdmitLocal(context.Background(), Low)
	r, _ = th.LoadReport()
	if !r.Overloaded || r.Shed[Low] < 0.9 || r.Utilization <= 1 || r.Shed[Low+1] != 0 {
		t.Errorf("got %+v", r)
	}
}

// TestThrottle_LoadReport_limit has calls that are late, so that Config.SlowGate limits the open ones.
func TestThrottle_LoadReport_limit(t *testing.T) {
	th := Must(New(Config{Name: "shop", Slow: time.Second}))
	th.watch.Load().gate.limits[Low].Store(5)
	r, ok := th.LoadReport()
	if !ok || !r.Overloaded {
		t.Errorf("got %+v, %v, want overloaded", r, ok)
	}
	wantSame(t, "Tune", th.Tune(Patch{SlowGate: new(ModeShadow)}), nil)
	if r, ok := th.LoadReport(); !ok || r.Overloaded {
		t.Errorf("the gate only counts: got %+v, %v", r, ok)
	}
}
