package throttle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestManyGoroutinesShareAGroup: each throttle is kept or closed, and the group never keeps more
// than Max, also while it is closed.
func TestManyGoroutinesShareAGroup(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{Max: 100})
	parallel(64, func(i int) {
		dice := rand.New(rand.NewPCG(uint64(i), 64))
		for range sized(100, 30) {
			key := fmt.Sprint("host-", dice.IntN(2000))
			th := member(t, g, key)
			equal(t, "Key", th.Key(), key)
			equal(t, "Do", th.Do(t.Context(), throttle.High, succeed), nil)
			if n := g.Len(); n > 100 {
				t.Errorf("Len: got %d want at most 100", n)
			}
		}
	})
	equal(t, "Len", g.Len(), 100)
	r.wantOpen(t, 100)
	parallel(16, func(i int) {
		for n := range 50 {
			if th, err := g.Get(fmt.Sprint(i, n)); (th == nil) != (err != nil) {
				t.Errorf("Get: got %v and error %v, want one of the two", th, err)
			}
			if i == 8 && n == 25 {
				equal(t, "Close", g.Close(), nil)
			}
		}
	})
	equal(t, "Len after Close", g.Len(), 0)
	r.wantOpen(t, 0)
}

// TestGoroutinesThatAskForOneKeyGetOneThrottle, however many were made meanwhile.
func TestGoroutinesThatAskForOneKeyGetOneThrottle(t *testing.T) {
	together := make(chan struct{})
	var asked sync.WaitGroup
	asked.Add(8)
	r := register{on: func(moment string) {
		if moment == "config" {
			asked.Done()
			<-together // all are past the first look
		}
	}}
	g := newGroup(t, r.config, throttle.GroupConfig{})
	got := make([]*throttle.Throttle, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = member(t, g, "a") })
	}
	asked.Wait()
	close(together)
	wg.Wait()
	equal(t, "different throttles", len(slices.Compact(got)), 1)
	equal(t, "the one of later", member(t, g, "a"), got[0])
	equal(t, "created", len(r.created), 8)
	r.wantOpen(t, 1)
}

// TestUsesOfManyGoroutinesCountByTheirTime: rounds of uses at one instant each, and then new keys in
// place of the old, which are evicted round by round.
func TestUsesOfManyGoroutinesCountByTheirTime(t *testing.T) {
	const rounds, keys = 10, 8
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var gone []string
		g := newGroup(t, func(string) throttle.Config {
			return throttle.Config{Name: "hosts", Priorities: 1, Hooks: throttle.Hooks{Closed: func(th *throttle.Throttle) {
				mu.Lock()
				defer mu.Unlock()
				gone = append(gone, th.Key())
			}}}
		}, throttle.GroupConfig{Max: rounds * keys})
		for range 2 { // the second time all keys are there
			for round := range rounds {
				parallel(keys, func(i int) { member(t, g, fmt.Sprint(round, i)) })
				time.Sleep(time.Microsecond)
			}
		}
		for i := range rounds * keys {
			member(t, g, fmt.Sprint("new", i))
			equal(t, "round of the evicted", gone[i][:1], fmt.Sprint(i/keys))
		}
		equal(t, "Len", g.Len(), rounds*keys)
	})
}

// naiveGroup is a group as simple as can be: keys by last use, the latest last.
type naiveGroup struct {
	max  int
	idle time.Duration
	keys []string
	used map[string]time.Time
}

// get tells whether the key was there, and which went.
func (n *naiveGroup) get(key string, now time.Time) (there bool, gone []string) {
	for len(n.keys) > 0 && now.Sub(n.used[n.keys[0]]) > n.idle {
		gone, n.keys = append(gone, n.keys[0]), n.keys[1:]
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		there, n.keys = true, slices.Delete(n.keys, i, i+1)
	}
	n.keys, n.used[key] = append(n.keys, key), now
	for len(n.keys) > n.max {
		gone, n.keys = append(gone, n.keys[0]), n.keys[1:]
	}
	return there, gone
}

// FuzzGroup plays a random use of a group against the naive one. Each byte of the script is a wait, or a use of the key that
// it cuts out of keys.
func FuzzGroup(f *testing.F) {
	f.Add(uint8(2), "abc", []byte{1, 2, 3, 1, 255, 4, 1})
	f.Add(uint8(1), "\x00\xff\n\"", []byte{0, 1, 0, 200, 250, 2})
	f.Add(uint8(7), "", []byte{9, 9, 255, 255, 9})
	f.Add(uint8(4), "ab", []byte{1, 244, 1, 244, 1, 244, 1, 2, 255, 1, 2})
	f.Add(uint8(3), "the quick brown fox", []byte("jumps over the lazy dog\xf0\xf7 and \xff\xff runs away"))
	for seed := range byte(20) {
		script := make([]byte, 200)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(script)
		f.Add(seed, "abcdefgh", script)
	}
	f.Fuzz(func(t *testing.T, bound uint8, keys string, script []byte) {
		synctest.Test(t, func(t *testing.T) {
			playGroup(t, 1+int(bound%8), keys, script[:min(len(script), 200)])
		})
	})
}

func playGroup(t *testing.T, bound int, keys string, script []byte) {
	names := map[*throttle.Throttle]string{}
	kept := map[string]*throttle.Throttle{}
	var gone []string
	var asked string
	g := newGroup(t, func(key string) throttle.Config {
		equal(t, "key that the Config is for", key, asked)
		return throttle.Config{Name: "hosts", Priorities: 1, Hooks: throttle.Hooks{
			Created: func(th *throttle.Throttle) { names[th] = key },
			Closed:  func(th *throttle.Throttle) { gone = append(gone, names[th]) },
		}}
	}, throttle.GroupConfig{Max: bound, Idle: time.Minute})
	model := naiveGroup{max: bound, idle: time.Minute, used: map[string]time.Time{}}
	for step, b := range script {
		if b >= 240 {
			time.Sleep(time.Duration(b-239) * 7 * time.Second)
			continue
		}
		time.Sleep(time.Nanosecond) // at one instant, the order would depend on whether the stack of the test moves
		asked, gone = keys[int(b)%(len(keys)+1):], nil
		there, wantGone := model.get(asked, time.Now())
		th := member(t, g, asked)
		if !slices.Equal(gone, wantGone) {
			t.Fatalf("step %d, Get(%q): closed: got %q want %q", step, asked, gone, wantGone)
		}
		if got := kept[asked] == th; got != there {
			t.Fatalf("step %d, Get(%q): the throttle of before: got %v want %v", step, asked, got, there)
		}
		equal(t, "the throttle's key", names[th], asked)
		equal(t, "Len", g.Len(), len(model.keys))
		kept[asked] = th
		wantMembers(t, g, model.keys, kept)
	}
	_ = g.Close()
	_, found := g.Lookup(asked)
	equal(t, "found after Close", found, false)
	equal(t, "keys after Close", keysOf(g), "[]")
}

// wantMembers fails the test unless All and Lookup have these keys, the last used last. Neither is a use, makes a throttle or
// evicts one, or else the model and the group differ later.
func wantMembers(t *testing.T, g *throttle.Group, keys []string, kept map[string]*throttle.Throttle) {
	t.Helper()
	latest := slices.Clone(keys)
	slices.Reverse(latest)
	equal(t, "keys of All", keysOf(g), fmt.Sprint(latest))
	for key, want := range kept {
		th, found := g.Lookup(key)
		equal(t, "found", found, slices.Contains(keys, key))
		if found {
			equal(t, "throttle that Lookup returns", th, want)
		}
	}
	for key := range g.All() {
		equal(t, "first key of a loop that is left", key, latest[0])
		break
	}
}

// TestAGroupsFunctionsMayUseTheGroup, close it, and panic: no lock is held while it asks for a Config or while the hooks of
// its members run.
func TestAGroupsFunctionsMayUseTheGroup(t *testing.T) {
	const closes, panics = "closes it", "panics"
	for name, act := range map[string]func(*throttle.Group){
		"gets a new key":   func(g *throttle.Group) { member(t, g, "inner") },
		"gets another key": func(g *throttle.Group) { member(t, g, "first"); _ = g.Len() },
		closes:             func(g *throttle.Group) { _ = g.Close() },
		panics:             func(*throttle.Group) { panic("boom") },
	} {
		for _, moment := range []string{"config", "Created", "Closed"} {
			t.Run(moment+" "+name, func(t *testing.T) {
				var g *throttle.Group
				armed, used := false, false
				r := register{on: func(where string) {
					if armed && where == moment {
						armed, used = false, true
						act(g)
					}
				}}
				g = newGroup(t, r.config, throttle.GroupConfig{Max: 2})
				inTime(t, func() {
					member(t, g, "filler")
					member(t, g, "first")
					armed = true
					var outer *throttle.Throttle
					panicked := survive(func() { outer, _ = g.Get("outer") })
					equal(t, "the group was used inside", used, true)
					equal(t, "panic of Get", panicked != nil, name == panics)
					if name == closes {
						_, err := g.Get("outer")
						equal(t, "error after Close", err, throttle.ErrClosed)
						equal(t, "Len after Close", g.Len(), 0)
						r.wantOpen(t, 0)
						return
					}
					again := member(t, g, "outer")
					if name != panics {
						if moment != "Closed" { // otherwise the inner key is used after it
							equal(t, "outer again", again, outer)
						}
						r.wantOpen(t, 2)
					}
					equal(t, "Len", g.Len(), 2)
				})
			})
		}
	}
}

func TestAPanickingClosedHookKeepsNoMemberOpen(t *testing.T) {
	var r register
	r.on = func(where string) {
		if where == "Closed" && len(r.closed) == 1 {
			panic("boom")
		}
	}
	g := newGroup(t, r.config, throttle.GroupConfig{})
	for _, key := range []string{"a", "b", "c"} {
		member(t, g, key)
	}
	_ = survive(func() { _ = g.Close() })
	_ = g.Close()
	r.wantOpen(t, 0)
}
