package statusz

import (
	"slices"
	"strings"
	"sync"

	"github.com/spillway-go/spillway/throttle"
)

// registry knows the throttles and sources that there are. Its lock is never held while anything of the user's runs, and
// throttle.Stats is that: it asks Config.Now.
type registry struct {
	mu      sync.Mutex
	ended   bool
	ids     uint64 // given out
	rows    map[string]*row
	members map[*throttle.Throttle]*row // open ones
	sources []*source                   // as they came
	readers int                         // under way
	reads   uint64                      // begun, ever
}

// row is all throttles of one name. Their counters are added up, and those of closed ones are kept: what falls looks like a
// restart.
type row struct {
	id      uint64
	name    string
	open    []*throttle.Throttle // as they came
	leaving []*throttle.Throttle // closed, but not in retired yet
	retired []sums               // of the closed ones, by priority
}

// join makes a throttle a member of the row of its name.
func (g *registry) join(t *throttle.Throttle) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.members[t]; known || g.ended {
		return
	}
	r, ok := g.rows[t.Name()]
	if !ok {
		g.ids++
		r = &row{id: g.ids, name: t.Name()}
		g.rows[r.name] = r
	}
	r.open = append(r.open, t)
	g.members[t] = r
}

// leave takes a closed throttle out of its row, and the row away with its last member.
func (g *registry) leave(t *throttle.Throttle) {
	g.mu.Lock()
	r, known := g.members[t]
	if !known {
		g.mu.Unlock()
		return
	}
	delete(g.members, t)
	i := slices.Index(r.open, t)
	r.open = slices.Delete(r.open, i, i+1)
	if len(r.open) == 0 {
		delete(g.rows, r.name)
		g.mu.Unlock()
		return
	}
	r.leaving = append(r.leaving, t)
	g.mu.Unlock()
	g.retire(r)
}

// retire lets go of a row's closed throttles and keeps their totals. It does so only while nobody reads: a reader may see
// a call more, of somebody who uses a closed throttle still, than there is in the totals that are kept. The end of the reading
// retires what had to wait for it.
func (g *registry) retire(r *row) {
	g.mu.Lock()
	leaving, reads, busy := slices.Clone(r.leaving), g.reads, g.readers > 0
	g.mu.Unlock()
	if busy {
		return
	}
	for _, t := range leaving {
		stats, _ := look(t)
		g.keep(r, t, &stats, reads)
	}
}

// keep adds the totals of a leaving throttle to those of the retired, unless somebody else did, or has begun to read since.
func (g *registry) keep(r *row, t *throttle.Throttle, stats *throttle.Stats, reads uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(r.leaving, t)
	if i < 0 || g.reads != reads {
		return
	}
	r.leaving = slices.Delete(r.leaving, i, i+1)
	r.retired = addAll(r.retired, stats, false)
}

// end forgets everything, for good.
func (g *registry) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.rows, g.members, g.sources = nil, nil, nil
}

// read returns what there is to see of every row, ordered by name, without the lock while it looks.
func (g *registry) read() []reading {
	g.mu.Lock()
	g.readers++
	g.reads++
	rows := make([]row, 0, len(g.rows))
	for _, r := range g.rows {
		rows = append(rows, row{
			id: r.id, name: r.name,
			open: slices.Clone(r.open), leaving: slices.Clone(r.leaving), retired: slices.Clone(r.retired),
		})
	}
	g.mu.Unlock()
	defer g.endRead()
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	readings := make([]reading, len(rows))
	for i := range rows {
		readings[i] = rows[i].read()
	}
	return readings
}

func (g *registry) endRead() {
	g.mu.Lock()
	g.readers--
	var waiting []*row
	for _, r := range g.rows {
		if len(r.leaving) > 0 {
			waiting = append(waiting, r)
		}
	}
	g.mu.Unlock()
	for _, r := range waiting {
		g.retire(r)
	}
}
