package breaker_test

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// calm ends all faults, and wants everything to be as if there had been none.
func (m *model) calm() {
	m.judge.mu.Lock()
	m.judge.faults = 0
	m.judge.note("all faults end")
	m.judge.mu.Unlock()
	m.mu.Lock()
	m.polls = 0
	m.mu.Unlock()
	m.ears.says(nil)
	time.Sleep(6 * time.Second) // agents leave a store that failed alone for 5 s
	m.judge.mu.Lock()
	m.judge.note("all agents must have come back")
	m.judge.mu.Unlock()
	m.converge()
	time.Sleep(time.Minute)
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	m.judgeEvents()
}

// converge wants all agents to know what the store holds, within three refreshes.
func (m *model) converge() {
	var last string
	for range 30 { // a change may come at any moment
		c := m.config
		c.Store = handle{m.judge, "somebody new"}
		fresh := agent(m.t, c)
		if err := fresh.Refresh(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
		want := known(fresh)
		last = ""
		for i, a := range m.fleet {
			if got := known(a); got != want {
				last = fmt.Sprintf("%s knows\n%swant\n%s", m.owners[i], got, want)
			}
		}
		if last == "" {
			return
		}
		time.Sleep(3 * m.config.Refresh / 30)
	}
	m.judge.mu.Lock()
	defer m.judge.mu.Unlock()
	m.judge.blame("three refreshes after the end of all faults %s", last)
}

// known is what an agent knows, to be compared.
func known(a *breaker.Manager) string {
	text := ""
	for _, s := range a.List() {
		text += fmt.Sprintf("  %v: %v, forced %v, trips %d, generation %d\n", s.Key, s.State, s.Forced, s.Trips, s.Generation)
	}
	return text
}

// judgeEvents compares what was told with what was written. The judge's lock is held.
func (m *model) judgeEvents() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ears.mu.Lock()
	defer m.ears.mu.Unlock()
	for id, n := range m.twice {
		if n > 1 {
			m.judge.blame("the hook was told of change %s %d times", id, n)
		}
	}
	for id, e := range m.ears.changed {
		if n := m.judge.events[id]; e.To != breaker.HalfOpen && (n == 0 || n > 1 && m.judge.life == 1) {
			m.judge.blame("the hook was told of change %s of %v to %v, which was written %d times", id, e.Key, e.To, n)
		}
	}
	for id := range m.judge.events {
		if m.ears.heard[id] == 0 && !m.judge.gone[id] && m.judge.life == 1 {
			m.judge.blame("change %s was never notified", id)
		}
	}
	for id := range m.ears.asked {
		if m.judge.events[id] == 0 {
			m.judge.blame("change %s was notified, and never written", id)
		}
	}
}
