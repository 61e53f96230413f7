package throttle_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestAGroupIsTunedAsAWhole(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	a := member(t, g, "a")
	off := throttle.Patch{Mode: new(throttle.ModeOff)}
	equal(t, "Tune", g.Tune(off), nil)
	equal(t, "Tune again", g.Tune(throttle.Patch{Ratio: new(3.0)}), nil)
	for name, th := range map[string]*throttle.Throttle{"one that was there": a, "one that comes later": member(t, g, "b")} {
		equal(t, name+": mode", th.Stats().Mode, throttle.ModeOff)
		equal(t, name+": ratio", th.Stats().Ratio, 3.0)
	}
	err := g.Tune(throttle.Patch{Ratio: new(0.5), Mode: new(throttle.ModeEnforce)})
	if err == nil || !strings.Contains(err.Error(), "Patch.Ratio is 0.5") {
		t.Errorf("out of range: got error %v want one that names the field", err)
	}
	for _, key := range []string{"a", "b", "c"} {
		equal(t, key+": mode after a change that was refused", member(t, g, key).Stats().Mode, throttle.ModeOff)
	}
	g.Close()
	if err := g.Tune(off); err == nil {
		t.Error("Tune after Close: got no error")
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
				equal(t, "Tune within", g.Tune(throttle.Patch{Mode: new(throttle.ModeOff)}), nil)
			}
			return time.Now()
		}
		return c
	}, throttle.GroupConfig{})
	equal(t, "Tune", g.Tune(throttle.Patch{Ratio: new(3.0)}), nil)
	armed = true
	stats := member(t, g, "a").Stats()
	equal(t, "armed", armed, false)
	equal(t, "ratio", stats.Ratio, 3.0)
	equal(t, "mode", stats.Mode, throttle.ModeOff)
	equal(t, "made", len(r.created), 1)
}

// TestAGroupKeepsEachField for later throttles.
func TestAGroupKeepsEachField(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	want := throttle.Tuning{
		Ratio: 3, MinimumRate: 4, Mode: throttle.ModeShadow, Background: 0.25, Slow: time.Second, SlowGate: throttle.ModeOff,
		SlowAuto: true, ProcessorWait: time.Minute / 10, CanceledAfter: time.Minute,
	}
	value := reflect.ValueOf(want)
	for i := range value.NumField() {
		var p throttle.Patch
		field := reflect.ValueOf(&p).Elem().FieldByName(value.Type().Field(i).Name)
		field.Set(reflect.New(field.Type().Elem()))
		field.Elem().Set(value.Field(i).Convert(field.Type().Elem()))
		equal(t, "Tune "+value.Type().Field(i).Name, g.Tune(p), nil)
		field.Elem().SetZero() // it was copied
	}
	equal(t, "Tune nothing", g.Tune(throttle.Patch{}), nil)
	now, _ := member(t, g, "a").Tuning()
	equal(t, "settings", now, want)
}

// TestManyTuneAGroupWhileItGrows: in the end all throttles have the same settings.
func TestManyTuneAGroupWhileItGrows(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	parallel(16, func(i int) {
		for n := range sized(30, 10) {
			ratio := float64(2 + 100*i + n)
			equal(t, "Tune", g.Tune(throttle.Patch{Ratio: new(ratio), MinimumRate: new(ratio)}), nil)
			member(t, g, fmt.Sprint(i, n%4))
		}
	})
	want := member(t, g, "later").Stats().Ratio
	for key, th := range g.All() {
		equal(t, "Ratio of "+key, th.Stats().Ratio, want)
		equal(t, "MinimumRate of "+key, th.Stats().MinimumRate, want)
	}
}

// TestAHookOfAGroupThatIsTunedMayTuneTheGroup: no lock is held while PolicyChanged runs.
func TestAHookOfAGroupThatIsTunedMayTuneTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *throttle.Group
		changes := 0
		g = newGroup(t, func(string) throttle.Config {
			return throttle.Config{Name: "hosts", Rand: lucky, Hooks: throttle.Hooks{
				PolicyChanged: func(context.Context, throttle.PolicyEvent) {
					if changes++; changes%2 == 0 { // the end of an alert
						equal(t, "Tune within", g.Tune(throttle.Patch{Ratio: new(3.0)}), nil)
					}
				},
			}}
		}, throttle.GroupConfig{})
		a, b := member(t, g, "a"), member(t, g, "b")
		alarm(a)
		equal(t, "Tune", g.Tune(throttle.Patch{Mode: new(throttle.ModeOff)}), nil)
		equal(t, "changes", changes, 2)
		for _, th := range []*throttle.Throttle{a, b} {
			equal(t, "mode", th.Stats().Mode, throttle.ModeOff)
			equal(t, "ratio", th.Stats().Ratio, 3.0)
		}
	})
}
