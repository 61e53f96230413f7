package throttle_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestAGroupIsTunedAsAWhole(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	a := member(t, g, "a")
	off := func(u *throttle.Tuning) { u.Mode = throttle.ModeOff }
	equal(t, "Tune", g.Tune(off), nil)
	equal(t, "Tune again", g.Tune(func(u *throttle.Tuning) { u.Ratio = 3 }), nil)
	for name, th := range map[string]*throttle.Throttle{"one that was there": a, "one that comes later": member(t, g, "b")} {
		equal(t, name+": mode", th.Stats().Mode, throttle.ModeOff)
		equal(t, name+": ratio", th.Stats().Ratio, 3.0)
	}
	err := g.Tune(func(u *throttle.Tuning) { u.Ratio, u.Mode = 0.5, throttle.ModeEnforce })
	if err == nil || !strings.Contains(err.Error(), "Tuning.Ratio is 0.5") {
		t.Errorf("out of range: got error %v want one that names the field", err)
	}
	for _, key := range []string{"a", "b", "c"} {
		equal(t, key+": mode after a change that was refused", member(t, g, key).Stats().Mode, throttle.ModeOff)
	}
	if err := g.Tune(nil); err == nil {
		t.Error("Tune(nil): got no error")
	}
	g.Close()
	if err := g.Tune(off); err == nil {
		t.Error("Tune after Close: got no error")
	}
}

// A change that comes while a throttle is being made, before it can be found, is not lost.
func TestAGroupIsTunedWhileAThrottleIsMade(t *testing.T) {
	var g *throttle.Group
	tuned := false
	g = newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{Created: func(*throttle.Throttle) {
			if !tuned {
				tuned = true
				equal(t, "Tune", g.Tune(func(u *throttle.Tuning) {
					u.Mode = throttle.ModeShadow
				}), nil)
			}
		}}}
	}, throttle.GroupConfig{})
	equal(t, "mode", member(t, g, "a").Stats().Mode, throttle.ModeShadow)
}

// What is fine for one member may be out of range for another, which cannot be made then.
func TestAChangeThatALaterMemberCannotTake(t *testing.T) {
	g := newGroup(t, func(key string) throttle.Config {
		c := throttle.Config{Name: "hosts", Policy: throttle.SRE, Window: time.Hour}
		if key == "short" {
			c.Window = time.Second
		}
		return c
	}, throttle.GroupConfig{})
	member(t, g, "long")
	equal(t, "Tune", g.Tune(func(u *throttle.Tuning) { u.MinimumRate = 0.01 }), nil)
	if th, err := g.Get("short"); th != nil || err == nil || !strings.Contains(err.Error(), `"short"`) || !strings.Contains(err.Error(), "MinimumRate") {
		t.Errorf("got %v and error %v want one that names key and field", th, err)
	}
}

// A change that comes after a new throttle has seen the others, and before it can be found, is not lost either.
func TestAGroupIsTunedWhileAThrottleIsTuned(t *testing.T) {
	var g *throttle.Group
	r := register{}
	armed := false
	g = newGroup(t, func(key string) throttle.Config {
		c := r.config(key)
		c.Now = func() time.Time {
			if armed && len(r.created) == 1 {
				armed = false
				equal(t, "Tune within", g.Tune(func(u *throttle.Tuning) { u.Mode = throttle.ModeOff }), nil)
			}
			return time.Now()
		}
		return c
	}, throttle.GroupConfig{})
	equal(t, "Tune", g.Tune(func(u *throttle.Tuning) { u.Ratio = 3 }), nil)
	armed = true
	stats := member(t, g, "a").Stats()
	equal(t, "armed", armed, false)
	equal(t, "ratio", stats.Ratio, 3.0)
	equal(t, "mode", stats.Mode, throttle.ModeOff)
	equal(t, "made", len(r.created), 1)
}

// TestAChangeMayTuneTheGroup: no lock is held while it runs.
func TestAChangeMayTuneTheGroup(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	a := member(t, g, "a")
	inTime(t, func() {
		equal(t, "Tune", g.Tune(func(u *throttle.Tuning) {
			u.Ratio = 3
			equal(t, "Tune within", g.Tune(func(u *throttle.Tuning) { u.Mode = throttle.ModeOff }), nil)
			member(t, g, "b")
		}), nil)
	})
	for _, th := range []*throttle.Throttle{a, member(t, g, "b"), member(t, g, "c")} {
		equal(t, "ratio", th.Stats().Ratio, 3.0)
		equal(t, "mode", th.Stats().Mode, throttle.ModeOff)
	}
}

// TestAllThrottlesGetChangesInOneOrder has a change that begins while another is between two throttles.
func TestAllThrottlesGetChangesInOneOrder(t *testing.T) {
	var g *throttle.Group
	var second sync.WaitGroup
	var armed atomic.Bool
	g = newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Now: func() time.Time {
			if armed.Swap(false) {
				second.Go(func() {
					equal(t, "second Tune", g.Tune(func(u *throttle.Tuning) { u.Ratio = 4 }), nil)
				})
				time.Sleep(10 * time.Millisecond) // time for it to do harm
			}
			return time.Now()
		}}
	}, throttle.GroupConfig{})
	for _, key := range []string{"a", "b", "c"} {
		member(t, g, key)
	}
	armed.Store(true)
	equal(t, "Tune", g.Tune(func(u *throttle.Tuning) { u.Ratio = 3 }), nil)
	second.Wait()
	for _, key := range []string{"a", "b", "c", "later"} {
		equal(t, "Ratio of "+key, member(t, g, key).Stats().Ratio, 4)
	}
}

// TestAGroupKeepsTheLastValueOfEachField, and no change itself: none is called for a later throttle.
func TestAGroupKeepsTheLastValueOfEachField(t *testing.T) {
	g := newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Ratio: 9, MinimumRate: 9, Mode: throttle.ModeOff}
	}, throttle.GroupConfig{})
	member(t, g, "a")
	calls := 0
	for i := range 100 {
		equal(t, "Tune Ratio", g.Tune(func(u *throttle.Tuning) { calls++; u.Ratio = 2 + float64(i) }), nil)
		equal(t, "Tune Mode", g.Tune(func(u *throttle.Tuning) { calls++; u.Mode = throttle.Mode(i % 2) }), nil)
	}
	equal(t, "Tune nothing", g.Tune(func(*throttle.Tuning) { calls++ }), nil)
	before := calls
	for _, key := range []string{"a", "b"} {
		s := member(t, g, key).Stats()
		equal(t, "settings of "+key, throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode},
			throttle.Tuning{Ratio: 101, MinimumRate: 9, Mode: throttle.ModeShadow})
	}
	equal(t, "calls of changes for a later throttle", calls, before)
}

// TestAGroupRefusesAChangeThatNeedsTheSettingsBefore names the field, and changes nothing.
func TestAGroupRefusesAChangeThatNeedsTheSettingsBefore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*throttle.Tuning)
		want   string
	}{
		"Ratio doubled":           {func(u *throttle.Tuning) { u.Ratio *= 2 }, "Tuning.Ratio"},
		"Ratio halved":            {func(u *throttle.Tuning) { u.Ratio /= 2 }, "Tuning.Ratio"},
		"Ratio at least":          {func(u *throttle.Tuning) { u.Ratio = max(u.Ratio, 1.5) }, "Tuning.Ratio"},
		"Ratio at most":           {func(u *throttle.Tuning) { u.Ratio = min(u.Ratio, 1000) }, "Tuning.Ratio"},
		"MinimumRate increased":   {func(u *throttle.Tuning) { u.MinimumRate++ }, "Tuning.MinimumRate"},
		"Mode, if it was another": {func(u *throttle.Tuning) { u.Mode = max(u.Mode, throttle.ModeShadow) }, "Tuning.Mode"},
		"Ratio, if the Mode is ModeOff": {func(u *throttle.Tuning) {
			if u.Mode == throttle.ModeOff {
				u.Ratio = 3
			}
		}, "Tuning.Ratio"},
		"one of two": {func(u *throttle.Tuning) { u.Mode, u.Ratio = throttle.ModeOff, u.Ratio+1 }, "Tuning.Ratio"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
			member(t, g, "a")
			err := g.Tune(c.change)
			if err == nil || strings.Count(err.Error(), "Tuning.") != 1 ||
				!strings.Contains(err.Error(), c.want+" is computed from the settings before: want a fixed value") {
				t.Errorf("Tune: got error %v want one that names %s only", err, c.want)
			}
			for _, key := range []string{"a", "b"} {
				s := member(t, g, key).Stats()
				equal(t, "settings of "+key, throttle.Tuning{Ratio: s.Ratio, MinimumRate: s.MinimumRate, Mode: s.Mode},
					throttle.Tuning{Ratio: 2, MinimumRate: 1, Mode: throttle.ModeEnforce})
			}
		})
	}
}

// TestAnEmptyGroupRefusesNonsense: otherwise no throttle could be made after it.
func TestAnEmptyGroupRefusesNonsense(t *testing.T) {
	for want, change := range map[string]func(*throttle.Tuning){
		"Tuning.Ratio is 1: want more than 1":     func(u *throttle.Tuning) { u.Ratio = 1 },
		"Tuning.Ratio is NaN: want more than 1":   func(u *throttle.Tuning) { u.Ratio = math.NaN() },
		"Tuning.MinimumRate is 0: want more":      func(u *throttle.Tuning) { u.MinimumRate = 0 },
		"Tuning.Mode is mode(7): want ModeEnforc": func(u *throttle.Tuning) { u.Mode = 7 },
	} {
		g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
		if err := g.Tune(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Tune: got error %v want %q", err, want)
		}
		member(t, g, "a")
	}
}

// TestAGroupRefusesAChangeThatOneMemberCannotTake names the member, and changes none.
func TestAGroupRefusesAChangeThatOneMemberCannotTake(t *testing.T) {
	g := newGroup(t, func(key string) throttle.Config {
		c := throttle.Config{Name: "hosts", Policy: throttle.SRE, Window: time.Hour}
		if key == "short" {
			c.Window = time.Second
		}
		return c
	}, throttle.GroupConfig{})
	for _, key := range []string{"a", "short", "b"} {
		member(t, g, key)
	}
	err := g.Tune(func(u *throttle.Tuning) { u.MinimumRate, u.Mode = 0.01, throttle.ModeOff })
	if err == nil || !strings.Contains(err.Error(), `"short"`) || !strings.Contains(err.Error(), "Tuning.MinimumRate is 0.01") {
		t.Errorf("Tune: got error %v want one that names the key and the field", err)
	}
	for _, key := range []string{"a", "short", "b", "c"} {
		equal(t, "mode of "+key, member(t, g, key).Stats().Mode, throttle.ModeEnforce)
	}
}

// TestManyTuneAGroupWhileItGrows: in the end all throttles have the same settings.
func TestManyTuneAGroupWhileItGrows(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range sized(30, 10) {
				ratio := float64(2 + 100*i + n)
				equal(t, "Tune", g.Tune(func(u *throttle.Tuning) { u.Ratio, u.MinimumRate = ratio, ratio }), nil)
				member(t, g, fmt.Sprint(i, n%4))
			}
		})
	}
	wg.Wait()
	want := member(t, g, "later").Stats().Ratio
	for key, th := range g.All() {
		equal(t, "Ratio of "+key, th.Stats().Ratio, want)
		equal(t, "MinimumRate of "+key, th.Stats().MinimumRate, want)
	}
}
