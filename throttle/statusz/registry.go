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
	throttles byname.Registry[*throttle.Throttle, memberStats, rowStats, uint64]

	mu      sync.Mutex
	ended   bool
	ids     uint64    // the last that was given to a row or a source
	sources []*source // in order of arrival
}

// memberStats is the Stats of one throttle. ok is false if Stats panicked.
type memberStats struct {
	key   string
	stats throttle.Stats
	ok    bool
}

// setUp lets throttles join. They are one row per name, which goes with its last open throttle.
func (g *registry) setUp() {
	g.throttles.Kind = byname.Kind[*throttle.Throttle, memberStats, rowStats, uint64]{
		Name:   (*throttle.Throttle).Name,
		Data:   func(*throttle.Throttle) uint64 { return g.newID() },
		Read:   readMember,
		Busy:   func(m *memberStats) bool { return !m.ok || slices.ContainsFunc(m.stats.Priorities, isInFlight) },
		Add:    rowStats.with,
		Clone:  func(r rowStats) rowStats { r.priorities = slices.Clone(r.priorities); return r },
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

// read returns the stats of every row, ordered by name.
func (g *registry) read() []rowStats {
	sources := g.throttles.Sources()
	rows := make([]rowStats, 0, len(sources))
	for _, s := range sources {
		if r, open, _ := s.Read(); open { // there is no error: readMember recovers panics
			r.id, r.name = s.Data, s.Name
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b rowStats) int { return strings.Compare(a.name, b.name) })
	return rows
}

// readMember reads one throttle. A panic of the user's Config.Now must not end the process.
func readMember(t *throttle.Throttle) (m memberStats) {
	defer func() { m.ok = recover() == nil }()
	return memberStats{key: t.Key(), stats: t.Stats()}
}
