package backoffz

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/statusz"
)

func TestVerdict(t *testing.T) {
	delayed, refused, served := backoff.Stats{Delay: 1}, traffic{successes: 1, throttled: 2}, traffic{successes: 2, throttled: 2}
	for _, tt := range []struct {
		name  string
		view  view
		state string
		level statusz.Level
	}{
		{"first look", view{}, "unknown", statusz.OK},
		{"nothing called", view{known: true}, "idle", statusz.OK},
		{"served", view{lately: traffic{successes: 1}, known: true}, "full speed", statusz.OK},
		{"given up", view{lately: traffic{ignored: 1}, known: true}, "full speed", statusz.OK},
		{"told when to come again", view{now: backoff.Stats{Waiting: 1}, known: true}, "waiting", statusz.OK},
		{"some throttled", view{now: delayed, lately: served, known: true}, "holding back", statusz.OK},
		{"most throttled", view{now: delayed, lately: refused, known: true}, "throttled most", statusz.Warn},
		{"most throttled, not long ago", view{now: delayed, lately: refused}, "throttled most", statusz.Warn},
		{"most throttled, long ago", view{now: delayed, told: refused, known: true}, "throttled most", statusz.Warn},
		{"most throttled, long ago, and not since", view{now: delayed, lately: served, told: refused, known: true}, "holding back", statusz.OK},
		{"most throttled, long ago, and given up since", view{now: delayed, lately: traffic{ignored: 9}, told: refused, known: true}, "throttled most", statusz.Warn},
		{"served, long ago", view{now: delayed, told: served, known: true}, "holding back", statusz.OK},
		{"most throttled, long ago, and forgotten", view{told: refused, known: true}, "idle", statusz.OK},
	} {
		if state, level := verdict(&tt.view); state != tt.state || level != tt.level {
			t.Errorf("%s: got %q and %v want %q and %v", tt.name, state, level, tt.state, tt.level)
		}
	}
}

// figure returns the value of a figure.
func figure(t *testing.T, s statusz.Status, name string) float64 {
	t.Helper()
	for _, f := range s.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	t.Errorf("figure %q: got none of %v", name, s.Figures)
	return math.NaN()
}

// want fails the test unless the status is this one.
func want(t *testing.T, got statusz.Status, state string, level statusz.Level, figures map[string]float64) {
	t.Helper()
	if got.Kind != "backoff" || got.Name != "table" || got.State != state || got.Level != level {
		t.Errorf("got %s %s, %s, %v want backoff table, %s, %v", got.Kind, got.Name, got.State, got.Level, state, level)
	}
	for name, value := range figures {
		if f := figure(t, got, name); f != value && !(math.IsNaN(f) && math.IsNaN(value)) {
			t.Errorf("%s: got %v want %v", name, f, value)
		}
	}
}

// end lets calls end so, each after its turn.
func end(t *testing.T, r *backoff.Responsive, outcomes ...backoff.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		p, err := r.Wait(t.Context())
		if err != nil {
			t.Errorf("Wait: got error %v want nil", err)
		}
		p.Done(o)
	}
}

// TestSourceTellsWhatHappens looks once in a while, as the page does, while a service is well, is down with few calls, and is well again.
func TestSourceTellsWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "table", Mode: backoff.Sleep, InitialInterval: time.Minute, RandomizationFactor: -1, DownMultiplier: 0.5, DownMultiplierThreshold: 2,
		}))
		source := Source(r)
		want(t, source.Status(), "unknown", statusz.OK, map[string]float64{"delay": 0, "calls": math.NaN(), "successes": 0})
		end(t, r, backoff.Success, backoff.Success, backoff.Ignored)
		time.Sleep(time.Second)
		want(t, source.Status(), "full speed", statusz.OK, map[string]float64{"calls": 3, "successes": 2, "ignored": 1, "slept": 0})

		end(t, r, backoff.Throttled, backoff.Throttled)
		want(t, source.Status(), "throttled most", statusz.Warn, map[string]float64{
			"delay": 90, "throttled": 2, "steps up": 2, "sleeping": 0, "slept": 1, "sleep time": 60, "calls": math.NaN(),
		})
		time.Sleep(30 * time.Second) // nobody has called
		want(t, source.Status(), "throttled most", statusz.Warn, map[string]float64{"calls": math.NaN()})
		time.Sleep(time.Second)
		want(t, source.Status(), "throttled most", statusz.Warn, map[string]float64{"calls": 0})

		end(t, r, backoff.Success, backoff.Success)
		want(t, source.Status(), "unknown", statusz.OK, map[string]float64{"delay": 0, "steps down": 1, "successes": 4, "slept": 3})
		end(t, r, backoff.Success)
		want(t, source.Status(), "full speed", statusz.OK, map[string]float64{"successes": 5, "slept": 3})
		time.Sleep(time.Hour)
		source.Status()
		time.Sleep(time.Second)
		want(t, source.Status(), "idle", statusz.OK, map[string]float64{"calls": 0, "delay": 0})
	})
}

// TestSourceTellsOfTheLine lets some wait whom the service has told when to come again.
func TestSourceTellsOfTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", RandomizationFactor: -1}))
		source := Source(r)
		end(t, r, backoff.ThrottledFor(20*time.Second))
		for range 3 {
			go func() { _, _ = r.Wait(t.Context()) }()
		}
		synctest.Wait()
		want(t, source.Status(), "throttled most", statusz.Warn, map[string]float64{"sleeping": 3, "delay": 0.1})
		r.Reset()
		for range 3 {
			go func() { _, _ = r.Wait(t.Context()) }()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		want(t, source.Status(), "unknown", statusz.OK, map[string]float64{"sleeping": 0, "delay": 0})
	})
}

// TestModesAreTold with the delay, which is another thing in each.
func TestModesAreTold(t *testing.T) {
	for mode, want := range map[backoff.Mode]string{backoff.Pace: "s, pace of all", backoff.Sleep: "s, sleep of each"} {
		r := backoff.Must(backoff.New(backoff.Config{Name: "table", Mode: mode}))
		if got := Source(r).Status().Figures[0].Unit; got != want {
			t.Errorf("unit of the delay: got %q want %q", got, want)
		}
	}
	if got := meaning(7); got != "mode(7)" {
		t.Errorf("a mode that there is not: got %q want mode(7)", got)
	}
}

// TestDelaysAreReadable from the shortest there is to the longest.
func TestDelaysAreReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", time.Microsecond: "0.001 ms", 2500 * time.Microsecond: "2.5 ms", 999 * time.Millisecond: "999 ms", time.Second: "1 s",
		1500 * time.Millisecond: "1.5 s", 15 * time.Minute: "900 s",
	} {
		if value, unit := readable(d); fmt.Sprint(value, " ", unit) != want {
			t.Errorf("%v: got %v %s want %s", d, value, unit, want)
		}
	}
}

// TestLooksAreRemembered as many as ten seconds have, however often somebody looks.
func TestLooksAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		var stats backoff.Stats
		read := func() backoff.Stats { return stats }
		for range 1000 {
			stats.Successes++
			if v := r.look(read); v.lately.over > memory {
				t.Fatalf("lately: got %v want at most %v", v.lately.over, memory)
			}
			time.Sleep(50 * time.Millisecond)
		}
		v := r.look(read)
		if n := len(r.seen); n > int(memory/pace)+1 || !v.known || v.lately.successes != 199 || v.lately.over != memory {
			t.Errorf("got %d looks, %+v want at most 21, and 199 in ten seconds", n, v)
		}
	})
}

// TestManyMayLook at once: nothing is ever less than it was.
func TestManyMayLook(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "table", InitialInterval: time.Microsecond, MaxInterval: 2 * time.Microsecond}))
	source := Source(r)
	var looking sync.WaitGroup
	for range 8 {
		looking.Go(func() {
			for range 200 {
				end(t, r, backoff.Success, backoff.Throttled)
				if s := source.Status(); s.Level == statusz.Bad || s.Figures[1].Value > 1e9 {
					t.Errorf("got %s, %v want it to hold back", s.State, s.Figures)
				}
			}
		})
	}
	looking.Wait()
}
