package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// asAgent is the first argument with which the test binary runs as an agent.
const asAgent = "agent"

func TestMain(m *testing.M) {
	program.Main(m, 1, map[string]func([]string) error{asAgent: runAgent})
}

// fleet is agents and their Redis.
type fleet struct {
	redis    *program.RedisServer
	restored string                      // the file by which the test restores the endpoints
	agents   map[string]*program.Process // those that run
	all      map[string]*program.Process // also the one that was killed
}

// TestFleet runs three agents while agents fail and their Redis loses everything. Each step depends on those before it.
// That no call waits for the store, and how many probes a fleet makes, package breaker tests without processes.
func TestFleet(t *testing.T) {
	f := &fleet{redis: program.Redis(t), restored: filepath.Join(t.TempDir(), "restored"), agents: map[string]*program.Process{}, all: map[string]*program.Process{}}
	for _, name := range []string{"a", "b", "c"} {
		f.start(t, name)
	}
	f.awaitLeader(t)
	f.awaitDisabled(t)
	f.killLeader(t)
	f.flush(t)
	f.freezeLeader(t)
	f.revive(t)
	f.checkChanges(t)
}

func (f *fleet) start(t *testing.T, name string) {
	t.Helper()
	f.agents[name] = program.Start(t, os.Args[0], asAgent, f.redis.Address, f.restored)
	f.all[name] = f.agents[name]
}

// said returns the facts of the lines of an agent that begin with a word.
func said(p *program.Process, word string) (facts [][]string) {
	for line := range strings.Lines(p.Output()) {
		if words := strings.Fields(line); strings.HasSuffix(line, "\n") && len(words) > 0 && words[0] == word {
			facts = append(facts, words[1:])
		}
	}
	return facts
}

// leaders returns the running agents that lead, except for one.
func (f *fleet) leaders(but string) (leaders []string) {
	for name, p := range f.agents {
		if states := said(p, "state"); name != but && len(states) > 0 && states[len(states)-1][0] == "true" {
			leaders = append(leaders, name)
		}
	}
	return leaders
}

// called returns how often an agent has called an endpoint since a time.
func called(p *program.Process, key string, since time.Time) (n int) {
	for _, call := range said(p, "called") {
		if begun, err := strconv.ParseInt(call[1], 10, 64); err == nil && call[0] == key && begun > since.UnixNano() {
			n++
		}
	}
	return n
}

// awaitLeader waits until exactly one agent leads, and returns its name.
func (f *fleet) awaitLeader(t *testing.T) (leader string) {
	t.Helper()
	program.Eventually(t, "one agent leads", func() string {
		leaders := f.leaders("")
		if len(leaders) != 1 {
			return fmt.Sprint("leaders: ", leaders)
		}
		leader = leaders[0]
		return ""
	})
	return leader
}

func (f *fleet) awaitDisabled(t *testing.T) {
	t.Helper()
	program.Eventually(t, "all agents have disabled the failing endpoints", func() (admitting string) {
		for name, p := range f.agents {
			states := said(p, "state")
			for _, k := range failing() {
				if len(states) == 0 || !slices.Contains(states[len(states)-1], k) {
					admitting += name + " admits " + k + "; "
				}
			}
		}
		return admitting
	})
}

// killLeader checks that another agent leads. Package breaker tests how long that takes.
func (f *fleet) killLeader(t *testing.T) {
	leader := f.awaitLeader(t)
	f.agents[leader].Kill(t)
	delete(f.agents, leader)
	f.awaitLeader(t)
	f.start(t, leader+"2")
	f.awaitDisabled(t)
}

// flush checks that the agents restore what the store has lost, and that they apply it meanwhile.
func (f *fleet) flush(t *testing.T) {
	begun := time.Now()
	f.redis.Do(t, "FLUSHALL")
	f.awaitStored(t)
	f.awaitDisabled(t)
	for name, p := range f.agents {
		for _, k := range failing() {
			if n := called(p, k, begun); n > 0 {
				t.Errorf("store flushed: %s made %d calls to %s, which is disabled", name, n, k)
			}
		}
	}
}

// awaitStored waits until all failing endpoints are disabled in the store.
func (f *fleet) awaitStored(t *testing.T) {
	t.Helper()
	program.Eventually(t, "the store has the disabled endpoints", func() string {
		m, end := f.manager(t)
		defer end()
		if err := m.Refresh(t.Context()); err != nil {
			return err.Error()
		}
		for _, k := range failing() {
			if s := m.Status(breaker.Key{ID: k}).State; s != breaker.Disabled {
				return k + " is " + s.String()
			}
		}
		return ""
	})
}

// manager returns a new manager of the test, which has not read the store.
func (f *fleet) manager(t *testing.T) (*breaker.Manager, func()) {
	t.Helper()
	m, end, err := newManager(f.redis.Address, breaker.Config{Counter: breaker.NewCounter(4 * time.Second), StoreTimeout: program.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	return m, end
}

// freezeLeader checks that another agent leads, and that the thawed one does not.
func (f *fleet) freezeLeader(t *testing.T) {
	leader := f.awaitLeader(t)
	f.agents[leader].Freeze(t)
	program.Eventually(t, "another agent leads", func() string {
		if len(f.leaders(leader)) == 0 {
			return "none does"
		}
		return ""
	})
	f.agents[leader].Thaw(t)
	f.awaitLeader(t)
}

// revive checks that all agents call an endpoint again after it was enabled by hand.
func (f *fleet) revive(t *testing.T) {
	if err := os.WriteFile(f.restored, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, end := f.manager(t)
	defer end()
	for _, k := range failing() {
		if err := m.Enable(t.Context(), breaker.Key{ID: k}); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	program.Eventually(t, "revived endpoints are called", func() string {
		for name, p := range f.agents {
			for _, k := range failing() {
				if called(p, k, begun) == 0 {
					return name + " does not call " + k
				}
			}
		}
		return ""
	})
}

// checkChanges checks that every change was made once, by one agent. Two agents that make the same change have overwritten
// each other. The agent that was killed may not have printed all of its changes.
func (f *fleet) checkChanges(t *testing.T) {
	seen, disabled := map[string]string{}, map[string]bool{}
	for name, p := range f.all {
		for _, facts := range said(p, "changed") {
			key, generation, to, trip := facts[0], facts[1], facts[2], facts[3]
			change := key + " " + generation + " " + to
			if other := seen[change]; other != "" {
				t.Errorf("lost update: %s was made by %s and by %s", change, other, name)
			}
			seen[change] = name
			if to == breaker.Disabled.String() {
				if trip != strconv.Itoa(trips) || disabled[key] || !slices.Contains(failing(), key) {
					t.Errorf("%s was disabled at trip %s, again %v, want only failing endpoints at trip %d, once", key, trip, disabled[key], trips)
				}
				disabled[key] = true
			}
		}
	}
	t.Logf("%d changes, each made once", len(seen))
}
