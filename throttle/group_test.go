package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// register records what a group makes and closes.
type register struct {
	mu              sync.Mutex
	created, closed []*throttle.Throttle
	on              func(moment string) // if not nil, is called with "config", "Created" and "Closed"
}

func (r *register) config(string) throttle.Config {
	note := func(moment string, list *[]*throttle.Throttle) func(*throttle.Throttle) {
		return func(th *throttle.Throttle) {
			r.mu.Lock()
			*list = append(*list, th)
			r.mu.Unlock()
			r.call(moment)
		}
	}
	r.call("config")
	return throttle.Config{
		Name: "hosts", Priorities: 1, Hooks: throttle.Hooks{Created: note("Created", &r.created), Closed: note("Closed", &r.closed)},
	}
}

func (r *register) call(moment string) {
	if r.on != nil {
		r.on(moment)
	}
}

// wantOpen fails the test unless this many throttles were created and not closed.
func (r *register) wantOpen(t testing.TB, want int) {
	t.Helper()
	equal(t, "created and not closed", len(r.created)-len(r.closed), want)
}

func newGroup(t testing.TB, config func(string) throttle.Config, c throttle.GroupConfig) *throttle.Group {
	t.Helper()
	g, err := throttle.NewGroup(config, c)
	if err != nil {
		t.Fatalf("NewGroup(%+v): %v", c, err)
	}
	return g
}

func member(t testing.TB, g *throttle.Group, key string) *throttle.Throttle {
	t.Helper()
	th, err := g.Get(key)
	if err != nil || th == nil {
		t.Errorf("Get(%q): got %v and error %v, want a throttle and nil", key, th, err)
	}
	return th
}

// wantClosed fails the test if the closed throttles are not these, in this order.
func (r *register) wantClosed(t testing.TB, want ...*throttle.Throttle) {
	t.Helper()
	if !slices.Equal(r.closed, want) {
		t.Errorf("closed: got %v want %v", r.closed, want)
	}
}

func TestAGroupMakesOneThrottlePerKey(t *testing.T) {
	var r register
	var keys []string
	g := newGroup(t, func(key string) throttle.Config { keys = append(keys, key); return r.config(key) }, throttle.GroupConfig{})
	a, b := member(t, g, "a"), member(t, g, "b")
	if a == b {
		t.Error("throttles of two keys: got the same, want two")
	}
	equal(t, "a again", member(t, g, "a"), a)
	equal(t, "b again", member(t, g, "b"), b)
	equal(t, "keys that a Config was asked for", fmt.Sprint(keys), "[a b]")
	equal(t, "Len", g.Len(), 2)
	equal(t, "created", len(r.created), 2)
	r.wantClosed(t)
	equal(t, "a's name", a.Name(), "hosts")
}

func TestMembersKeepCountsOfTheirOwn(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	times(3, member(t, g, "a"), throttle.High, errBusy)
	wantAdmitted(t, member(t, g, "a"), throttle.High, 3, throttle.Rejected, throttle.FaultAvailability)
	wantAdmitted(t, member(t, g, "b"), throttle.High, 0, throttle.Rejected, throttle.FaultAvailability)
}

func TestTheLongestUnusedGoesFirst(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{Max: 3})
	a, b, c := member(t, g, "a"), member(t, g, "b"), member(t, g, "c")
	r.wantClosed(t)
	member(t, g, "a")
	d := member(t, g, "d")
	r.wantClosed(t, b)
	equal(t, "Len", g.Len(), 3)
	for key, want := range map[string]*throttle.Throttle{"a": a, "c": c, "d": d} {
		equal(t, key, member(t, g, key), want)
	}
	if fresh := member(t, g, "b"); fresh == b {
		t.Error("b after it went: got the closed throttle, want a new one")
	}
	equal(t, "Len", g.Len(), 3)
	equal(t, "closed", len(r.closed), 2)
}

func TestMaxIsAThousandUnlessToldOtherwise(t *testing.T) {
	g := newGroup(t, (&register{}).config, throttle.GroupConfig{})
	for i := range 1003 {
		member(t, g, fmt.Sprint(i))
	}
	equal(t, "Len", g.Len(), 1000)
}

// TestAnyGetEvictsTheIdle: also one that asks for another key, for a key that is there, or in vain.
func TestAnyGetEvictsTheIdle(t *testing.T) {
	for name, get := range map[string]func(*throttle.Group) error{
		"a key that is there": func(g *throttle.Group) error { _, err := g.Get("used"); return err },
		"a new key":           func(g *throttle.Group) error { _, err := g.Get("new"); return err },
		"the idle key":        func(g *throttle.Group) error { _, err := g.Get("idle"); return err },
		"a key without a Config": func(g *throttle.Group) error {
			if _, err := g.Get("bad"); err == nil {
				return errors.New("got no error for a bad Config")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r register
				g := newGroup(t, func(key string) throttle.Config {
					if key == "bad" {
						return throttle.Config{}
					}
					return r.config(key)
				}, throttle.GroupConfig{Idle: time.Minute})
				idle := member(t, g, "idle")
				time.Sleep(time.Second)
				member(t, g, "used")
				time.Sleep(59 * time.Second)
				member(t, g, "used")
				r.wantClosed(t) // a minute is not too long
				time.Sleep(time.Nanosecond)
				equal(t, "Get", get(g), nil)
				r.wantClosed(t, idle)
			})
		})
	}
}

func TestIdleIsTenMinutesUnlessToldOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r register
		g := newGroup(t, r.config, throttle.GroupConfig{})
		a := member(t, g, "a")
		for range 3 {
			time.Sleep(10 * time.Minute)
			equal(t, "a after ten minutes", member(t, g, "a"), a)
		}
		time.Sleep(10*time.Minute + 1)
		equal(t, "Len while nobody asks", g.Len(), 1)
		if member(t, g, "a") == a {
			t.Error("a after more than ten minutes: got the old throttle, want a new one")
		}
		r.wantClosed(t, a)
	})
}

func TestACallInFlightOutlivesItsEviction(t *testing.T) {
	var d diary
	g := newGroup(t, func(key string) throttle.Config {
		c := throttle.Config{Name: "hosts", Now: watchFrom(newYear(2026)).now}
		if key == "a" {
			c.Hooks = d.hooks()
		}
		return c
	}, throttle.GroupConfig{Max: 1})
	a := member(t, g, "a")
	err := a.Do(t.Context(), throttle.Low, func(context.Context) error {
		member(t, g, "b")
		return errPlain
	})
	equal(t, "Do", err, errPlain)
	equal(t, "a call that begins later", a.Do(t.Context(), throttle.Low, returns(errPlain)), errPlain)
	want := []string{"created hosts", "started low at 0.00", "closed hosts", "finished low accepted other after 0s: no such product"}
	if got := d.tear(); !slices.Equal(got, want) {
		t.Errorf("told: got %q want %q", got, want)
	}
	wantAdmitted(t, a, throttle.Low, 2, throttle.Accepted, throttle.FaultOther)
}

func TestABadConfigIsRefusedWithItsKey(t *testing.T) {
	cases := []struct {
		name string
		bad  throttle.Config
		want string
	}{
		{"no name", throttle.Config{}, "Config.Name"},
		{"out of range", throttle.Config{Name: "hosts", Ratio: 0.5}, "Config.Ratio"},
		{"another name than its siblings", throttle.Config{Name: "tenants"}, `"tenants": want "hosts"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r register
			broken := true
			g := newGroup(t, func(key string) throttle.Config {
				config := r.config(key)
				if broken && key == "db\n7" {
					hooks := config.Hooks
					config, config.Hooks = c.bad, hooks
				}
				return config
			}, throttle.GroupConfig{Max: 5})
			good := member(t, g, "db-6")
			th, err := g.Get("db\n7")
			if th != nil || err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"db\n7"`) {
				t.Errorf("Get: got %v and error %v, want nil and an error with the key and %s", th, err, c.want)
			}
			equal(t, "Len", g.Len(), 1)
			equal(t, "created that are not closed", len(r.created)-len(r.closed), 1)
			equal(t, "the good one", member(t, g, "db-6"), good)
			broken = false // the next Get asks again
			member(t, g, "db\n7")
		})
	}
}

func TestBadGroupConfigsAreRefused(t *testing.T) {
	config := (&register{}).config
	cases := []struct {
		name   string
		config func(string) throttle.Config
		group  throttle.GroupConfig
		want   []string
	}{
		{"no function", nil, throttle.GroupConfig{}, []string{"NewGroup needs a function"}},
		{"Max", config, throttle.GroupConfig{Max: -1}, []string{"GroupConfig.Max is -1: want at least 1"}},
		{"Idle too short", config, throttle.GroupConfig{Idle: time.Second - 1}, []string{"GroupConfig.Idle is 999.999999ms: want at least 1s"}},
		{"Idle negative", config, throttle.GroupConfig{Idle: -time.Hour}, []string{"GroupConfig.Idle is -1h0m0s: want at least 1s"}},
		{"all", nil, throttle.GroupConfig{Max: -1, Idle: 1}, []string{"function", "Max", "Idle"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := throttle.NewGroup(c.config, c.group)
			if g != nil || err == nil {
				t.Fatalf("NewGroup: got %v and error %v, want nil and an error", g, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error: got %q, want it to contain %q", err, want)
				}
			}
		})
	}
	newGroup(t, config, throttle.GroupConfig{Max: 1, Idle: time.Second})
}

func TestCloseOfAGroup(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{})
	a, b := member(t, g, "a"), member(t, g, "b")
	for range 2 {
		equal(t, "Close", g.Close(), nil)
		r.wantClosed(t, a, b)
		equal(t, "Len", g.Len(), 0)
	}
	for _, key := range []string{"a", "c"} {
		if th, err := g.Get(key); th != nil || err == nil {
			t.Errorf("Get(%q) after Close: got %v and error %v, want nil and an error", key, th, err)
		}
	}
	equal(t, "created", len(r.created), 2)
	equal(t, "a call on what the group kept", a.Do(t.Context(), throttle.High, succeed), nil)
}

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
			equal(t, "Tune", g.Tune(throttle.Patch{Mode: new(throttle.ModeOff)}), nil)
			_ = g.Close()
		}
	}
	equal(t, "seen", fmt.Sprint(seen), fmt.Sprint([]*throttle.Throttle{b, a}))
}

// TestUsesAtOneInstantCountInTheirOrder: the clock of a bubble stands still.
func TestUsesAtOneInstantCountInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r register
		g := newGroup(t, r.config, throttle.GroupConfig{Max: 4})
		a, b := member(t, g, "a"), member(t, g, "b")
		for _, key := range []string{"c", "d", "b", "a", "c", "b", "d"} {
			member(t, g, key)
		}
		equal(t, "keys, the last used first", keysOf(g), "[d b c a]")
		member(t, g, "e")
		r.wantClosed(t, a)
		for _, key := range []string{"d", "c"} {
			member(t, g, key)
		}
		equal(t, "keys, the last used first", keysOf(g), "[c d e b]")
		member(t, g, "f")
		r.wantClosed(t, a, b)
	})
}

// TestAGroupFromOutsideABubble: nobody is idle because the clock is odd.
func TestAGroupFromOutsideABubble(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{Idle: time.Minute})
	a := member(t, g, "a")
	synctest.Test(t, func(t *testing.T) {
		equal(t, "a in the bubble", member(t, g, "a"), a)
		time.Sleep(30 * time.Second)
		member(t, g, "b")
	})
	equal(t, "b outside again", member(t, g, "b"), member(t, g, "b"))
	equal(t, "Close", g.Close(), nil)
	equal(t, "closed", len(r.closed), len(r.created))
}

func TestAMemberHasItsKeyInErrorsAndLogs(t *testing.T) {
	g, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "backends", Rand: unlucky}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	th, err := g.Get("a.example:443")
	if err != nil {
		t.Fatal(err)
	}
	overload(t, th, throttle.High)
	equal(t, "Key", th.Key(), "a.example:443")
	refusal := th.Do(context.Background(), throttle.High, unwanted(t))
	var shed *throttle.ShedError
	if !errors.As(refusal, &shed) {
		t.Fatalf("got %v want a *ShedError", refusal)
	}
	equal(t, "ShedError", *shed, throttle.ShedError{Throttle: "backends", Key: "a.example:443", Priority: throttle.High})
	equal(t, "message", shed.Error(), `throttle: backends for "a.example:443" shed a call of high priority`)
	equal(t, "event", throttle.ShedEvent{Throttle: th, Probability: 0.25}.String(), "backends[a.example:443]: shed high call probability=0.25 cause=own")
	equal(t, "log value", shed.LogValue().String(), "[throttle=backends key=a.example:443 priority=high cause=own]")
	equal(t, "Key outside a group", build(t, throttle.Config{}).Key(), "")
}
