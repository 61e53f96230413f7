package throttle_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// keysOf returns the keys that All yields, in their order.
func keysOf(g *throttle.Group) string {
	var keys []string
	for key := range g.All() {
		keys = append(keys, key)
	}
	return fmt.Sprint(keys)
}

func TestLookupAndAllMakeNothing(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	equal(t, "keys of an empty group", keysOf(g), "[]")
	th, ok := g.Lookup("a")
	equal(t, "throttle of a key without one", th, nil)
	equal(t, "found", ok, false)
	equal(t, "created", len(r.created), 0)

	a, b := member(t, g, "a"), member(t, g, "b")
	th, ok = g.Lookup("a")
	equal(t, "a", th, a)
	equal(t, "a is found", ok, true)
	equal(t, "keys, the last used first", keysOf(g), "[b a]")
	want := map[string]*throttle.Throttle{"a": a, "b": b}
	for key, th := range g.All() {
		equal(t, key, th, want[key])
	}
	for key := range g.All() {
		equal(t, "first key of a loop that is left", key, "b")
		break
	}

	_ = g.Close()
	_, ok = g.Lookup("a")
	equal(t, "found after Close", ok, false)
	equal(t, "keys after Close", keysOf(g), "[]")
}

// TestLookupAndAllAreNoUse: neither spares a throttle from being idle, nor from being the longest unused, and neither evicts.
func TestLookupAndAllAreNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r register
		g := newGroup(t, r.config, throttle.GroupConfig{Max: 2, Idle: time.Minute})
		look := func() {
			g.Lookup("a")
			_ = keysOf(g)
		}
		a := member(t, g, "a")
		b := member(t, g, "b")
		look()
		c := member(t, g, "c")
		r.wantClosed(t, a)

		time.Sleep(time.Hour)
		look()
		g.Lookup("b")
		r.wantClosed(t, a)
		equal(t, "keys of idle throttles", keysOf(g), "[c b]")
		member(t, g, "d")
		r.wantClosed(t, a, b, c)
	})
}

// TestALoopOverAllMayCallTheGroup, which may have forgotten meanwhile what the loop still sees.
func TestALoopOverAllMayCallTheGroup(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	a, b := member(t, g, "a"), member(t, g, "b")
	var seen []*throttle.Throttle
	for key, th := range g.All() {
		seen = append(seen, th)
		if key == "b" {
			member(t, g, "c")
			_, ok := g.Lookup("a")
			equal(t, "a is found", ok, true)
			equal(t, "Tune", g.Tune(func(u *throttle.Tuning) { u.Mode = throttle.Off }), nil)
			_ = g.Close()
		}
	}
	equal(t, "seen", fmt.Sprint(seen), fmt.Sprint([]*throttle.Throttle{b, a}))
}
