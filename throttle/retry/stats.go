package retry

import (
	"encoding/json"
	"iter"
	"maps"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Stats is the state of a Retrier at one instant. Totals count since [New] and never decrease.
type Stats struct {
	Name string
	Key  string // of the throttle in its Group; empty outside one
	Mode throttle.Mode
	// Calls is the number of calls that ended, by the number of attempts that were sent. Calls[0]
	// are those whose first attempt was shed.
	Calls  []uint64
	Sent   uint64   // retries sent, hedges included
	Hedged uint64   // hedges sent
	Denied Denials  // calls that failed and were not retried, or not again
	Left   float64  // retries left in the budget
	Limit  float64  // retries that the budget has per window, those that were sent included
	_      struct{} // keyed literals only
}

// Denials counts calls that were not retried, by reason. The zero Denials is empty. Its JSON is an object with a number
// per reason.
type Denials struct {
	calls [numReasons]uint64
}

// Count returns the number of calls with a reason.
func (d Denials) Count(r Reason) uint64 {
	if int(r) >= numReasons {
		return 0
	}
	return d.calls[r]
}

// All yields every reason with its number of calls, 0 included.
func (d Denials) All() iter.Seq2[Reason, uint64] {
	return func(yield func(Reason, uint64) bool) {
		for r, n := range d.calls {
			if !yield(Reason(r), n) {
				return
			}
		}
	}
}

// MarshalJSON returns an object with a number per reason.
func (d Denials) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(d.All())) }

// Sum returns the number of all calls.
func (d Denials) Sum() uint64 {
	var sum uint64
	for _, n := range d.calls {
		sum += n
	}
	return sum
}

// Merge adds all calls of other.
func (d *Denials) Merge(other Denials) {
	for r := range d.calls {
		d.calls[r] += other.calls[r]
	}
}

// Stats returns the current state of the Retrier. Calls continue meanwhile, so totals may differ
// from each other by the calls that are ending.
func (r *Retrier) Stats() Stats {
	if !r.valid() {
		return Stats{}
	}
	c := &r.counters
	state := r.tuning.State()
	s := Stats{Name: r.config.Name, Key: r.config.Throttle.Key(), Mode: state.Now.Mode}
	accepted := c.accepted()
	s.Left, s.Limit = r.ledger.level(r.elapsed(), accepted, &state.Now)
	s.Calls = make([]uint64, maxAttempts+1)
	longest := max(state.Now.Attempts, state.Code.Attempts)
	for i := range s.Calls {
		s.Calls[i] = c.ended[i].Load()
		if s.Calls[i] > 0 {
			longest = max(longest, i) // with other settings
		}
	}
	s.Calls = s.Calls[:longest+1]
	s.Calls[1] += accepted
	s.Hedged = c.hedged.Load()
	s.Sent = s.Hedged + c.sent.Load()
	for i := range c.denied {
		s.Denied.calls[i] = c.denied[i].Load()
	}
	return s
}

// stripes is the number of stripes of counters. Goroutines on different processors rarely share one.
const stripes = 8

// stripe counts the most frequent end of a call: its first attempt was accepted. It fills two cache
// lines, because they are fetched in pairs.
type stripe struct {
	accepted atomic.Uint64
	_        [120]byte
}

type counters struct {
	stripes [stripes]stripe
	ended   [maxAttempts + 1]atomic.Uint64 // other calls, by the number of attempts that were sent
	sent    atomic.Uint64                  // retries without hedges
	hedged  atomic.Uint64
	denied  [numReasons]atomic.Uint64
}

func (c *counters) accept() { c.stripes[window.PickOf(stripes)].accepted.Add(1) }

func (c *counters) accepted() uint64 {
	var sum uint64
	for i := range c.stripes {
		sum += c.stripes[i].accepted.Load()
	}
	return sum
}
