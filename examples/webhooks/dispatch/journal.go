package dispatch

import (
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// Journal notes what the breakers' hooks tell: each change of a circuit is told once in the whole fleet.
type Journal struct {
	mu       sync.Mutex
	changes  map[breaker.Key][]Change
	ledSince map[*breaker.Manager]time.Time
	failures [breaker.NumFailures]Failures
}

// Change is a change of a circuit, and when it was told of.
type Change struct {
	To breaker.State
	At time.Time
}

// Failures are things that went wrong, and were tried again.
type Failures struct {
	Count int
	Last  error
}

// NewJournal returns an empty journal.
func NewJournal() *Journal {
	return &Journal{changes: map[breaker.Key][]Change{}, ledSince: map[*breaker.Manager]time.Time{}}
}

// Hooks returns the hooks for the breakers' Config.
func (j *Journal) Hooks() breaker.Hooks {
	return breaker.Hooks{Changed: j.changed, Led: j.led, Failed: j.failed}
}

func (j *Journal) changed(e breaker.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes[e.Key] = append(j.changes[e.Key], Change{To: e.To, At: time.Now()})
}

func (j *Journal) led(e breaker.LeadEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.ledSince, e.Manager)
	if e.Leads {
		j.ledSince[e.Manager] = time.Now()
	}
}

func (j *Journal) failed(e breaker.FailureEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures[e.Failure].Count++
	j.failures[e.Failure].Last = e.Err
}

// Forget forgets the changes that there were.
func (j *Journal) Forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.changes)
}

// LedSince returns since when a manager leads, as it believes; the zero time if it does not.
func (j *Journal) LedSince(m *breaker.Manager) time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ledSince[m]
}

// First returns when a circuit first changed to a state, after an instant.
func (j *Journal) First(k breaker.Key, to breaker.State, after time.Time) (time.Time, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.changes[k] {
		if c.To == to && c.At.After(after) {
			return c.At, true
		}
	}
	return time.Time{}, false
}

// Ever returns which circuits were ever in a state.
func (j *Journal) Ever(to breaker.State) map[breaker.Key]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	found := map[breaker.Key]bool{}
	for k, changes := range j.changes {
		for _, c := range changes {
			if c.To == to {
				found[k] = true
			}
		}
	}
	return found
}

// Failures returns what went wrong beside the calls, by kind.
func (j *Journal) Failures() [breaker.NumFailures]Failures {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failures
}
