package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
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

// TestGroup_defaults: at most 1000 members, which are closed if they are not used for more than ten minutes.
func TestGroup_defaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r register
		g := newGroup(t, r.config, throttle.GroupConfig{})
		for i := range 1003 {
			member(t, g, fmt.Sprint(i))
		}
		equal(t, "Len", g.Len(), 1000)
		last := member(t, g, "1002")
		equal(t, "name", last.Name(), "hosts")
		for range 3 {
			time.Sleep(10 * time.Minute)
			equal(t, "after ten minutes", member(t, g, "1002"), last)
		}
		time.Sleep(10*time.Minute + 1)
		equal(t, "Len without a Get", g.Len(), 1)
		if member(t, g, "1002") == last {
			t.Error("after more than ten minutes: got the old throttle, want a new one")
		}
		r.wantOpen(t, 1)
	})
}

func TestABadConfigIsRefusedWithItsKey(t *testing.T) {
	for want, bad := range map[string]throttle.Config{
		"Config.Name":             {},
		"Config.Ratio":            {Name: "hosts", Ratio: 0.5},
		`"tenants": want "hosts"`: {Name: "tenants"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r register
			bad.Hooks = r.config("").Hooks
			g := newGroup(t, func(key string) throttle.Config {
				if key == "db\n7" {
					return bad
				}
				return r.config(key)
			}, throttle.GroupConfig{Idle: time.Minute})
			idle := member(t, g, "idle")
			time.Sleep(time.Minute)
			good := member(t, g, "db-6")
			time.Sleep(time.Nanosecond)
			th, err := g.Get("db\n7")
			if th != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"db\n7"`) {
				t.Errorf("Get: got %v and error %v, want nil and an error with the key and %s", th, err, want)
			}
			equal(t, "closed although the Get failed", r.closed[0], idle)
			r.wantOpen(t, 1)
			equal(t, "the good one", member(t, g, "db-6"), good)
			bad = r.config("") // the next Get asks again
			member(t, g, "db\n7")
		})
	}
}

func TestBadGroupConfigsAreRefused(t *testing.T) {
	config := (&register{}).config
	for want, bad := range map[string]throttle.GroupConfig{
		"GroupConfig.Max is -1: want at least 1":             {Max: -1},
		"GroupConfig.Idle is 999.999999ms: want at least 1s": {Idle: time.Second - 1},
		"GroupConfig.Idle is -1h0m0s: want at least 1s":      {Idle: -time.Hour},
	} {
		if g, err := throttle.NewGroup(config, bad); g != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewGroup: got %v and error %v, want nil and %q", g, err, want)
		}
	}
	_, err := throttle.NewGroup(nil, throttle.GroupConfig{Max: -1, Idle: 1})
	text := fmt.Sprint(err)
	if !strings.Contains(text, "NewGroup needs a function") || strings.Count(text, "GroupConfig.") != 2 {
		t.Errorf("all at once: got error %v want three", err)
	}
	newGroup(t, config, throttle.GroupConfig{Max: 1, Idle: time.Second})
}

// TestANilOrZeroGroup has no throttles, and says how to make one.
func TestANilOrZeroGroup(t *testing.T) {
	for name, g := range map[string]*throttle.Group{"nil": nil, "zero": {}} {
		_, err := g.Get("a")
		for _, err := range []error{err, g.Tune(throttle.Patch{})} {
			if err == nil || !strings.Contains(err.Error(), "make one with NewGroup") {
				t.Errorf("%s: got error %v want one about NewGroup", name, err)
			}
		}
		_, found := g.Lookup("a")
		equal(t, name+": found", found, false)
		equal(t, name+": keys", keysOf(g), "[]")
		equal(t, name+": number", g.Len(), 0)
		equal(t, name+": Close", g.Close(), nil)
	}
}

// keysOf returns the keys that All yields, in their order.
func keysOf(g *throttle.Group) string {
	var keys []string
	for key := range g.All() {
		keys = append(keys, key)
	}
	return fmt.Sprint(keys)
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

// TestAGroupFromOutsideABubble: no member is idle because the clock is odd.
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
	var log logbook
	hooks := throttle.LogHooks(slog.New(&log))
	g := newGroup(t, func(string) throttle.Config {
		return throttle.Config{Name: "backends", Policy: throttle.SRE, Rand: unlucky, Hooks: hooks}
	}, throttle.GroupConfig{})
	th := member(t, g, "a.example:443")
	overload(t, th, throttle.High)
	_ = th.Close()
	for i, line := range log.read() {
		want := []string{"WARN throttle started to shed", "INFO throttle stopped shedding"}[i]
		want += " throttle=backends key=a.example:443 priority=high"
		equal(t, inWords(line), strings.HasPrefix(inWords(line), want), true)
	}
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

// TestGroup_memory holds the sizes that SECURITY.md names: callers may choose keys, and each makes a throttle.
func TestGroup_memory(t *testing.T) {
	const members = 200
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	full := func(context.Context) error { return throttle.MarkOverloaded(errors.New("full")) }
	for _, tt := range []struct {
		name   string
		call   func(th *throttle.Throttle, i int)
		atMost uint64
	}{
		{"client", func(th *throttle.Throttle, _ int) { _ = th.Do(t.Context(), throttle.Medium, full) }, 25_000},
		{"server", func(th *throttle.Throttle, _ int) { _ = th.DoLocal(t.Context(), throttle.Medium, full) }, 33_000},
		{"server with tenants", func(th *throttle.Throttle, i int) {
			_ = th.DoLocal(throttle.WithTenant(t.Context(), fmt.Sprint(i)), throttle.Medium, full)
		}, 95_000},
	} {
		g := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "hosts"} }, throttle.GroupConfig{}))
		before := heap()
		for m := range members {
			th := throttle.Must(g.Get(fmt.Sprint(m)))
			for i := range 60 {
				tt.call(th, i)
			}
		}
		if got := (heap() - before) / members; got > tt.atMost {
			t.Errorf("%s: got %d bytes for each throttle want at most %d", tt.name, got, tt.atMost)
		}
		runtime.KeepAlive(g)
		_ = g.Close()
	}
}
