package throttle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// inTime fails the test if f does not end, because it waits for a lock that its own goroutine holds.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("got no end, want one: a lock is held")
	}
}

// TestAGroupsFunctionsMayUseTheGroup: no lock is held while it asks for a Config or while the hooks of its members run.
func TestAGroupsFunctionsMayUseTheGroup(t *testing.T) {
	cases := []struct {
		name  string
		inner string // the key that is asked for inside
		want  int    // throttles kept in the end, of three at most
	}{
		{"another key", "inner", 3},
		{"a key that is there", "first", 2},
	}
	for _, moment := range []string{"config", "Created", "Closed"} {
		for _, c := range cases {
			t.Run(moment+" gets "+c.name, func(t *testing.T) {
				var g *throttle.Group
				armed, used := false, false
				use := func(where string) {
					if armed && where == moment {
						armed, used = false, true
						member(t, g, c.inner)
						_ = g.Len()
					}
				}
				g = newGroup(t, func(string) throttle.Config {
					use("config")
					return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{
						Created: func(*throttle.Throttle) { use("Created") },
						Closed:  func(*throttle.Throttle) { use("Closed") },
					}}
				}, throttle.GroupConfig{Max: 3})
				inTime(t, func() {
					if moment == "Closed" {
						for _, key := range []string{"filler 1", "filler 2"} {
							member(t, g, key)
						}
					}
					first := member(t, g, "first")
					armed = true
					outer := member(t, g, "outer")
					equal(t, "outer again", member(t, g, "outer"), outer)
					if moment != "Closed" {
						equal(t, "first again", member(t, g, "first"), first)
						equal(t, "Len", g.Len(), c.want)
					} else {
						equal(t, "Len", g.Len(), 3)
					}
				})
				equal(t, "the group was used inside", used, true)
			})
		}
	}
}

// TestAConfigThatGetsItsOwnKey: the throttle made inside is the one that stays.
func TestAConfigThatGetsItsOwnKey(t *testing.T) {
	var r register
	var g *throttle.Group
	var inner *throttle.Throttle
	nested := false
	g = newGroup(t, func(key string) throttle.Config {
		if !nested {
			nested = true
			inner = member(t, g, key)
		}
		return r.config(key)
	}, throttle.GroupConfig{})
	inTime(t, func() {
		equal(t, "the throttle that both get", member(t, g, "a"), inner)
		equal(t, "Len", g.Len(), 1)
		equal(t, "created", len(r.created), 2)
		r.wantClosed(t, r.created[1])
	})
}

// TestAGroupClosedByItsOwnFunctions keeps nothing, and leaves nothing open.
func TestAGroupClosedByItsOwnFunctions(t *testing.T) {
	for _, moment := range []string{"config", "Created", "Closed"} {
		t.Run(moment, func(t *testing.T) {
			var g *throttle.Group
			created, closed := 0, 0
			use := func(where string) {
				if where == moment {
					_ = g.Close()
				}
			}
			g = newGroup(t, func(string) throttle.Config {
				use("config")
				return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{
					Created: func(*throttle.Throttle) { created++; use("Created") },
					Closed:  func(*throttle.Throttle) { closed++; use("Closed") },
				}}
			}, throttle.GroupConfig{Max: 1})
			inTime(t, func() {
				var errs []error
				for _, key := range []string{"a", "b", "c"} {
					_, err := g.Get(key)
					errs = append(errs, err)
				}
				if errors.Join(errs...) == nil {
					t.Error("Get: got no error, want one after Close")
				}
				equal(t, "created and not closed", created-closed, 0)
				equal(t, "Len", g.Len(), 0)
			})
		})
	}
}

// TestAPanicInAGroupsFunctionLeavesTheGroupInOrder: the panic is the caller's, and the next Get works.
func TestAPanicInAGroupsFunctionLeavesTheGroupInOrder(t *testing.T) {
	for _, moment := range []string{"config", "Created", "Closed"} {
		t.Run(moment, func(t *testing.T) {
			armed := false
			use := func(where string) {
				if armed && where == moment {
					armed = false
					panic("boom")
				}
			}
			g := newGroup(t, func(string) throttle.Config {
				use("config")
				return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{
					Created: func(*throttle.Throttle) { use("Created") },
					Closed:  func(*throttle.Throttle) { use("Closed") },
				}}
			}, throttle.GroupConfig{Max: 1})
			member(t, g, "a")
			armed = true
			equal(t, "panic", survive(func() { _, _ = g.Get("b") }), any("boom"))
			inTime(t, func() {
				equal(t, "b again", member(t, g, "b"), member(t, g, "b"))
				equal(t, "Len", g.Len(), 1)
			})
		})
	}
}

func TestAPanickingClosedHookKeepsNoMemberOpen(t *testing.T) {
	created, closed := 0, 0
	g := newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Hooks: throttle.Hooks{
			Created: func(*throttle.Throttle) { created++ },
			Closed: func(*throttle.Throttle) {
				if closed++; closed == 1 {
					panic("boom")
				}
			},
		}}
	}, throttle.GroupConfig{})
	for _, key := range []string{"a", "b", "c"} {
		member(t, g, key)
	}
	_ = survive(func() { _ = g.Close() })
	_ = g.Close()
	equal(t, "created and not closed", created-closed, 0)
}
