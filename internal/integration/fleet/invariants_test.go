package fleet

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// place is one generation of a circuit.
type place struct {
	key        string
	generation uint64
}

// checkEvents: every change was made once, by one agent. Two agents that made the same one would have overwritten each other.
func (f *fleet) checkEvents(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	type change struct {
		place

		to breaker.State
	}
	seen := map[change]heard{}
	disabled := map[string]int{}
	for _, h := range f.events {
		e := h.Event
		c := change{place{e.Key.ID, e.Generation}, e.To}
		if other, ok := seen[c]; ok {
			t.Errorf("lost update: %s of %s was made by %s at %v and by %s at %v", e.To, e.Key.ID, other.Agent, other.Event.At, h.Agent, e.At)
		}
		seen[c] = h
		if e.To == breaker.Disabled {
			disabled[e.Key.ID]++
			if e.Trips != trips {
				t.Errorf("%s was disabled at trip %d, want %d", e.Key.ID, e.Trips, trips)
			}
		}
	}
	for _, k := range mortal() {
		if disabled[k] != 1 {
			t.Errorf("%s was disabled %d times, want once", k, disabled[k])
		}
	}
	if len(disabled) != len(mortal()) {
		t.Errorf("disabled: %v, want the dead endpoints only", disabled)
	}
	t.Logf("%d changes, each made once", len(f.events))
}

// checkProbes: no half-open circuit got more probes than the whole fleet may make, in any of its periods.
func (f *fleet) checkProbes(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	probed := map[place][]time.Time{}
	for _, m := range f.made {
		if m.State == breaker.HalfOpen {
			p := place{m.Key, m.Generation}
			probed[p] = append(probed[p], m.at)
		}
	}
	total := 0
	for p, at := range probed {
		periods := int(at[len(at)-1].Sub(at[0])/sampleRate) + 4 // the first may be any part of one, and the machine may have stood still
		if len(at) > periods*probeBudget {
			t.Errorf("%s, generation %d: %d probes in %d periods, want at most %d each", p.key, p.generation, len(at), periods, probeBudget)
		}
		total += len(at)
	}
	if total == 0 {
		t.Error("there was no probe")
	}
	t.Logf("%d probes of %d half-open circuits", total, len(probed))
}
