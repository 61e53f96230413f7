package fleet

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/redisstore"
)

// fleet is a Redis, agents, and their environment.
type fleet struct {
	*environment

	redis  *program.RedisServer
	agents map[string]*program.Process
}

// TestFleet runs three agents while agents fail and their Redis loses everything. Each step depends on those before it.
// That no call waits for the store, and how many probes a fleet makes, package breaker tests without processes.
func TestFleet(t *testing.T) {
	f := &fleet{environment: newEnvironment(t), redis: program.Redis(t), agents: map[string]*program.Process{}}
	for _, name := range []string{"a", "b", "c"} {
		f.start(t, name)
	}
	f.awaitLeader(t)
	f.awaitDisabled(t)
	f.killLeader(t)
	f.flush(t)
	f.freezeLeader(t)
	f.revive(t)
	f.checkEvents(t)
}

func (f *fleet) start(t *testing.T, name string) {
	t.Helper()
	f.agents[name] = program.Start(t, os.Args[0], asAgent, name, f.server.URL, f.redis.Address)
}

// names returns the running agents.
func (f *fleet) names() []string {
	var names []string
	for name := range f.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// awaitLeader waits until exactly one agent leads, and returns its name.
func (f *fleet) awaitLeader(t *testing.T) string {
	t.Helper()
	leader := ""
	program.Eventually(t, "one agent leads", func() string {
		leaders := f.leaders(f.names()...)
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
	program.Eventually(t, "all agents have disabled the failing endpoints", func() string { return strings.Join(f.admitting(f.names()...), ", ") })
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
	if n := f.callsTo(begun); n > 0 {
		t.Errorf("store flushed: %d calls reached disabled endpoints", n)
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
	client := redis.NewUniversalClient(redisstore.Options(f.redis.Address))
	store, err := redisstore.NewBreaker(client, redisstore.BreakerConfig{Name: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	c := config(store)
	c.Counter = breaker.NewCounter(c.ObservabilityWindow)
	c.StoreTimeout = program.Timeout
	m, err := breaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, func() { _ = client.Close() }
}

// freezeLeader checks that another agent leads, and that the thawed one does not.
func (f *fleet) freezeLeader(t *testing.T) {
	leader := f.awaitLeader(t)
	f.agents[leader].Freeze(t)
	others := slices.DeleteFunc(f.names(), func(n string) bool { return n == leader })
	program.Eventually(t, "another agent leads", func() string {
		if len(f.leaders(others...)) == 0 {
			return "none of " + strings.Join(others, ", ")
		}
		return ""
	})
	f.agents[leader].Thaw(t)
	f.awaitLeader(t)
}

// revive checks that all agents call an endpoint again after it was enabled by hand.
func (f *fleet) revive(t *testing.T) {
	f.restore()
	m, end := f.manager(t)
	defer end()
	for _, k := range failing() {
		if err := m.Enable(t.Context(), breaker.Key{ID: k}); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	program.Eventually(t, "revived endpoints are called", func() string {
		for _, k := range failing() {
			for _, name := range f.names() {
				if !f.hasCalled(name, k, begun) {
					return name + " does not call " + k
				}
			}
		}
		return ""
	})
}

func (env *environment) hasCalled(agent, key string, since time.Time) bool {
	env.mu.Lock()
	defer env.mu.Unlock()
	return slices.ContainsFunc(env.calls, func(m madeCall) bool { return m.Agent == agent && m.Key == key && m.at.After(since) })
}

// checkEvents checks that every change was made once, by one agent. Two agents that make the same change
// have overwritten each other. The agent that was killed may not have sent all of its changes.
func (f *fleet) checkEvents(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	type change struct {
		key        string
		generation uint64
		to         breaker.State
	}
	seen := map[change]agentEvent{}
	disabled := map[string]int{}
	for _, h := range f.events {
		e := h.Event
		c := change{e.Key.ID, e.Generation, e.To}
		if other, ok := seen[c]; ok {
			t.Errorf("lost update: %s of %s was made by %s at %v and by %s at %v", e.To, e.Key.ID, other.Agent, other.Event.At, h.Agent, e.At)
		}
		seen[c] = h
		if e.To == breaker.Disabled {
			disabled[e.Key.ID]++
			if e.Trips != trips || disabled[e.Key.ID] > 1 || !slices.Contains(failing(), e.Key.ID) {
				t.Errorf("%s was disabled at trip %d, for the %d. time, want only failing endpoints at trip %d, once", e.Key.ID, e.Trips, disabled[e.Key.ID], trips)
			}
		}
	}
	t.Logf("%d changes, each made once", len(f.events))
}
