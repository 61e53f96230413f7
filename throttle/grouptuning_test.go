package throttle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestAGroupIsTunedAsAWhole(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	a := member(t, g, "a")
	off := func(u *throttle.Tuning) { u.Mode = throttle.Off }
	equal(t, "Tune", g.Tune(off), nil)
	equal(t, "Tune again", g.Tune(func(u *throttle.Tuning) { u.Ratio = 3 }), nil)
	for name, th := range map[string]*throttle.Throttle{"one that was there": a, "one that comes later": member(t, g, "b")} {
		equal(t, name+": mode", th.Stats().Mode, throttle.Off)
		equal(t, name+": ratio", th.Stats().Ratio, 3.0)
	}
	err := g.Tune(func(u *throttle.Tuning) { u.Ratio, u.Mode = 0.5, throttle.Enforce })
	if err == nil || !strings.Contains(err.Error(), "Tuning.Ratio is 0.5") {
		t.Errorf("out of range: got error %v want one that names the field", err)
	}
	for _, key := range []string{"a", "b", "c"} {
		equal(t, key+": mode after a change that was refused", member(t, g, key).Stats().Mode, throttle.Off)
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
					u.Mode = throttle.Shadow
				}), nil)
			}
		}}}
	}, throttle.GroupConfig{})
	equal(t, "mode", member(t, g, "a").Stats().Mode, throttle.Shadow)
}

// What is fine for one member may be out of range for another, which cannot be made then.
func TestAChangeThatALaterMemberCannotTake(t *testing.T) {
	g := newGroup(t, func(key string) throttle.Config {
		c := throttle.Config{Name: "hosts", Window: time.Hour}
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
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	once := false
	equal(t, "Tune", g.Tune(func(u *throttle.Tuning) {
		u.Ratio = 3
		if !once {
			once = true
			equal(t, "Tune within", g.Tune(func(u *throttle.Tuning) { u.Mode = throttle.Off }), nil)
		}
	}), nil)
	stats := member(t, g, "a").Stats()
	equal(t, "ratio", stats.Ratio, 3.0)
	equal(t, "mode", stats.Mode, throttle.Off)
	equal(t, "made", len(r.created), 1)
}
