package statusz

import (
	"slices"
	"strings"
	"sync"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
)

// registry holds the throttles and the sources of the page. Its locks are not held while a function
// of the user runs. Throttle.Stats runs one: it calls Config.Now.
type registry struct {
	throttles byname.Registry[*throttle.Throttle, snapshot, reading, uint64]

	mu      sync.Mutex
	ended   bool
	ids     uint64    // the last that was given to a row or a source
	sources []*source // in order of arrival
}

// snapshot is the Stats of one throttle, or ok is false if Stats panicked.
type snapshot struct {
	stats throttle.Stats
	ok    bool
}

// setUp lets throttles join. They are one row per name, which goes with its last open throttle.
func (g *registry) setUp() {
	g.throttles.Kind = byname.Kind[*throttle.Throttle, snapshot, reading, uint64]{
		Name:   (*throttle.Throttle).Name,
		Data:   func(*throttle.Throttle) uint64 { return g.newID() },
		Read:   look,
		Busy:   func(s *snapshot) bool { return !s.ok || slices.ContainsFunc(s.stats.Priorities, isInFlight) },
		Add:    reading.with,
		Clone:  func(r reading) reading { r.priorities = slices.Clone(r.priorities); return r },
		Forget: true,
	}
}

func isInFlight(p throttle.PriorityStats) bool { return p.InFlight > 0 }

// newID returns the id of a new row.
func (g *registry) newID() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids++
	return g.ids
}

// join adds an open throttle to the row of its name.
func (g *registry) join(t *throttle.Throttle) { g.throttles.Join(t) }

// leave removes a closed throttle from its row.
func (g *registry) leave(t *throttle.Throttle) { g.throttles.Leave(t) }

// end removes all throttles and sources. None can be added afterwards.
func (g *registry) end() {
	g.throttles.End()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.sources = nil
}

// read returns a reading of every row, ordered by name.
func (g *registry) read() []reading {
	sources := g.throttles.Sources()
	readings := make([]reading, 0, len(sources))
	for _, s := range sources {
		if r, open, _ := s.Read(); open { // there is no error: look recovers panics
			r.id, r.name = s.Data, s.Name
			readings = append(readings, r)
		}
	}
	slices.SortFunc(readings, func(a, b reading) int { return strings.Compare(a.name, b.name) })
	return readings
}

// look returns a snapshot of a throttle. A panic of Config.Now must not end the process.
func look(t *throttle.Throttle) (s snapshot) {
	defer func() { s.ok = recover() == nil }()
	return snapshot{stats: t.Stats()}
}

// with adds a throttle to the reading. One that is closed adds its counters only. One whose Stats
// panicked adds to the number of instances only.
func (r reading) with(s *snapshot, open bool) reading {
	if open {
		r.instances++
	}
	if !s.ok {
		return r
	}
	if open {
		r.settle(settingsOf(&s.stats), r.settings == settings{})
	}
	r.priorities = addAll(r.priorities, &s.stats, open)
	return r
}
