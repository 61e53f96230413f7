package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// endpoints returns the endpoints that the agents call.
func endpoints() []string {
	return append([]string{"https://one:8443/well", "https://two:8443/well", "well"}, failing()...)
}

// failing returns the endpoints that can fail.
func failing() []string { return []string{"https://one:8443/dead", "https://two:8443/dead", "dead"} }

// environment is everything outside the agents and their store: the endpoints, the table of deliveries,
// and the reports and events of the agents.
type environment struct {
	server *httptest.Server

	mu      sync.Mutex
	down    bool
	calls   []madeCall
	events  []agentEvent
	reports map[string]report // the latest of each agent
}

// madeCall is a call that reached an endpoint.
type madeCall struct {
	attempt

	at     time.Time
	failed bool
}

func newEnvironment(t *testing.T) *environment {
	env := &environment{reports: map[string]report{}, down: true}
	mux := http.NewServeMux()
	mux.HandleFunc("/call", env.call)
	mux.HandleFunc("/poll", env.poll)
	mux.HandleFunc("/event", env.event)
	mux.HandleFunc("/report", env.report)
	env.server = httptest.NewServer(mux)
	t.Cleanup(env.server.Close)
	return env
}

// read decodes a request of an agent.
func read[T any](rw http.ResponseWriter, r *http.Request) (T, bool) {
	var value T
	if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return value, false
	}
	return value, true
}

func (env *environment) call(rw http.ResponseWriter, r *http.Request) {
	a, ok := read[attempt](rw, r)
	if !ok {
		return
	}
	env.mu.Lock()
	failed := env.down && slices.Contains(failing(), a.Key)
	env.calls = append(env.calls, madeCall{attempt: a, at: time.Now(), failed: failed})
	env.mu.Unlock()
	if failed {
		http.Error(rw, "down", http.StatusServiceUnavailable)
	}
}

// poll counts results as a table of deliveries would.
func (env *environment) poll(rw http.ResponseWriter, r *http.Request) {
	q, ok := read[pollRequest](rw, r)
	if !ok {
		return
	}
	now := time.Now()
	results := map[string]breaker.PollResult{}
	env.mu.Lock()
	for _, m := range env.calls {
		since, known := q.Since[m.Key]
		if age := now.Sub(m.at); age > q.Window || known && age > since {
			continue
		}
		n := results[m.Key]
		if m.failed {
			n.Failures++
		} else {
			n.Successes++
		}
		results[m.Key] = n
	}
	env.mu.Unlock()
	_ = json.NewEncoder(rw).Encode(results)
}

func (env *environment) event(rw http.ResponseWriter, r *http.Request) {
	if e, ok := read[agentEvent](rw, r); ok {
		env.mu.Lock()
		env.events = append(env.events, e)
		env.mu.Unlock()
	}
}

func (env *environment) report(rw http.ResponseWriter, r *http.Request) {
	n, ok := read[report](rw, r)
	if !ok {
		return
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.reports[n.Agent] = n
}

// restore makes the failing endpoints work.
func (env *environment) restore() {
	env.mu.Lock()
	env.down = false
	env.mu.Unlock()
}

// leaders returns the agents that lead.
func (env *environment) leaders(agents ...string) []string {
	env.mu.Lock()
	defer env.mu.Unlock()
	var leaders []string
	for _, a := range agents {
		if env.reports[a].Leads {
			leaders = append(leaders, a)
		}
	}
	return leaders
}

// admitting returns the agents that have not disabled all failing endpoints.
func (env *environment) admitting(agents ...string) []string {
	env.mu.Lock()
	defer env.mu.Unlock()
	var missing []string
	for _, a := range agents {
		for _, k := range failing() {
			if !slices.Contains(env.reports[a].Disabled, k) {
				missing = append(missing, a+" admits "+k)
			}
		}
	}
	return missing
}

// callsTo returns how many calls that began since then reached failing endpoints.
func (env *environment) callsTo(since time.Time) int {
	env.mu.Lock()
	defer env.mu.Unlock()
	n := 0
	for _, m := range env.calls {
		if m.Begun.After(since) && slices.Contains(failing(), m.Key) {
			n++
		}
	}
	return n
}
