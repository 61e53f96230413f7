package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// endpoints are those that the agents call. Every fifth can be dead.
func endpoints() []string {
	keys := make([]string, 15)
	for i := range keys {
		keys[i] = fmt.Sprintf("https://endpoint-%02d.example:8443/hooks", i)
	}
	return keys
}

// mortal are the endpoints that can be dead.
func mortal() []string {
	var keys []string
	for i, k := range endpoints() {
		if i%5 == 4 {
			keys = append(keys, k)
		}
	}
	return keys
}

// world is all that is outside the agents and their store: the endpoints, the table of deliveries, and a journal of what the
// agents tell.
type world struct {
	server *httptest.Server

	mu      sync.Mutex
	dead    bool
	made    []made
	events  []heard
	reports map[string]report // the newest of each agent
	counts  map[string]int    // how many each has made
	tally   tally
}

// made is a call that reached an endpoint.
type made struct {
	attempt

	at     time.Time
	failed bool
}

// tally is how long decisions took.
type tally struct{ decisions, slow int }

func newWorld(t *testing.T) *world {
	w := &world{reports: map[string]report{}, counts: map[string]int{}, dead: true}
	mux := http.NewServeMux()
	mux.HandleFunc("/call", w.call)
	mux.HandleFunc("/poll", w.poll)
	mux.HandleFunc("/event", w.event)
	mux.HandleFunc("/report", w.report)
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

// read reads what an agent sends.
func read[T any](rw http.ResponseWriter, r *http.Request) (T, bool) {
	var value T
	if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return value, false
	}
	return value, true
}

func (w *world) call(rw http.ResponseWriter, r *http.Request) {
	a, ok := read[attempt](rw, r)
	if !ok {
		return
	}
	w.mu.Lock()
	failed := w.dead && slices.Contains(mortal(), a.Key)
	w.made = append(w.made, made{attempt: a, at: time.Now(), failed: failed})
	w.mu.Unlock()
	if failed {
		http.Error(rw, "dead", http.StatusServiceUnavailable)
	}
}

// poll counts, as a table of deliveries would.
func (w *world) poll(rw http.ResponseWriter, r *http.Request) {
	q, ok := read[question](rw, r)
	if !ok {
		return
	}
	now := time.Now()
	results := map[string]breaker.PollResult{}
	w.mu.Lock()
	for _, m := range w.made {
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
	w.mu.Unlock()
	_ = json.NewEncoder(rw).Encode(results)
}

func (w *world) event(rw http.ResponseWriter, r *http.Request) {
	if e, ok := read[heard](rw, r); ok {
		w.mu.Lock()
		w.events = append(w.events, e)
		w.mu.Unlock()
	}
}

func (w *world) report(rw http.ResponseWriter, r *http.Request) {
	n, ok := read[report](rw, r)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports[n.Agent] = n
	w.counts[n.Agent]++
	w.tally.decisions += n.Decisions
	w.tally.slow += n.Slow
}

// told returns how many reports each agent has made.
func (w *world) told() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts)
}

// raise lets the dead endpoints live.
func (w *world) raise() {
	w.mu.Lock()
	w.dead = false
	w.mu.Unlock()
}

// leaders returns which of the agents lead.
func (w *world) leaders(agents ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var leaders []string
	for _, a := range agents {
		if w.reports[a].Leads {
			leaders = append(leaders, a)
		}
	}
	return leaders
}

// without returns which of the agents do not refuse all mortal endpoints for good.
func (w *world) without(agents ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var missing []string
	for _, a := range agents {
		for _, k := range mortal() {
			if !slices.Contains(w.reports[a].Refused, k) {
				missing = append(missing, a+" lets "+k+" pass")
			}
		}
	}
	return missing
}

// restartTally forgets how long decisions took.
func (w *world) restartTally() {
	w.mu.Lock()
	w.tally = tally{}
	w.mu.Unlock()
}

// callsTo returns how many calls reached mortal endpoints that were begun since.
func (w *world) callsTo(since time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.made {
		if m.Begun.After(since) && slices.Contains(mortal(), m.Key) {
			n++
		}
	}
	return n
}
