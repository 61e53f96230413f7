package otelthrottle

import (
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// longestDrain is how long a closed throttle is kept for the calls that were in flight at its close.
const longestDrain = 10 * time.Minute

// source is all throttles of one name, which are one source of telemetry. Their counters are added up, and those of closed
// ones are kept: a counter that falls looks like a restart.
type source struct {
	labels *labels

	mu       sync.Mutex
	open     []*throttle.Throttle
	draining []drain  // closed, but with calls in flight
	retired  []totals // of the closed ones, by priority
	readers  int      // under way
	reads    uint64   // begun, ever
}

// drain is a closed throttle some of whose calls have not ended.
type drain struct {
	throttle *throttle.Throttle
	since    time.Time
}

// join makes a throttle a member of the source of its name.
func (tel *Telemetry) join(t *throttle.Throttle) *source {
	tel.mu.Lock()
	name := labelName(t.Name())
	s, ok := tel.sources[name]
	if !ok {
		s = &source{labels: newLabels(name, tel.attributes)}
		tel.sources[name] = s
		tel.order = append(tel.order, s)
	}
	tel.mu.Unlock()
	s.mu.Lock()
	s.open = append(s.open, t)
	s.mu.Unlock()
	return s
}

// leave takes a closed throttle out of its source.
func (tel *Telemetry) leave(m *member) {
	s := m.source
	s.mu.Lock()
	if i := slices.Index(s.open, m.throttle); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
		s.draining = append(s.draining, drain{m.throttle, time.Now()})
	}
	s.mu.Unlock()
	tel.retire(s)
}

// retire lets go of the closed throttles whose calls have ended, and keeps their totals. It does so only while nobody reads: a
// reader may see a call more, of somebody who uses a closed throttle still, than there is in the totals that are kept.
func (tel *Telemetry) retire(s *source) {
	s.mu.Lock()
	draining, reads, busy := slices.Clone(s.draining), s.reads, s.readers > 0
	s.mu.Unlock()
	if busy {
		return // the next collection will do it
	}
	for _, d := range draining {
		stats := d.throttle.Stats() // whose clock may be a user's function: no lock is held
		if inFlight(&stats) && time.Since(d.since) < longestDrain {
			continue
		}
		if s.keep(d.throttle, &stats, reads) {
			tel.members.Delete(d.throttle)
		}
	}
}

// keep adds the totals of a draining throttle to those of the retired, unless it is not draining any more or somebody has
// begun to read since.
func (s *source) keep(t *throttle.Throttle, stats *throttle.Stats, reads uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.draining, func(d drain) bool { return d.throttle == t })
	if i < 0 || s.reads != reads {
		return false
	}
	s.draining = slices.Delete(s.draining, i, i+1)
	for p := range stats.Priorities {
		if p == len(s.retired) {
			s.retired = append(s.retired, totals{})
		}
		s.retired[p].add(&stats.Priorities[p])
	}
	return true
}

func inFlight(stats *throttle.Stats) bool {
	return slices.ContainsFunc(stats.Priorities, func(p throttle.PriorityStats) bool { return p.InFlight > 0 })
}

// read returns what the source shows, by priority: nothing while none of its throttles is open.
func (s *source) read() []reading {
	s.mu.Lock()
	s.readers++
	s.reads++
	open, draining := slices.Clone(s.open), slices.Clone(s.draining)
	readings := make([]reading, len(s.retired), max(len(s.retired), throttle.StandardPriorities))
	for p := range s.retired {
		readings[p].totals = s.retired[p]
	}
	s.mu.Unlock()
	defer s.endRead()
	if len(open) == 0 {
		return nil
	}
	for _, t := range open {
		stats := t.Stats()
		readings = addStats(readings, &stats, true)
	}
	for _, d := range draining {
		stats := d.throttle.Stats()
		readings = addStats(readings, &stats, false)
	}
	return readings
}

func (s *source) endRead() {
	s.mu.Lock()
	s.readers--
	s.mu.Unlock()
}

// addStats adds one throttle to the readings; the present only of one that is open.
func addStats(readings []reading, stats *throttle.Stats, open bool) []reading {
	for p := range stats.Priorities {
		if p == len(readings) {
			readings = append(readings, reading{})
		}
		readings[p].add(&stats.Priorities[p])
		if open {
			readings[p].addPresent(&stats.Priorities[p])
		}
	}
	return readings
}
