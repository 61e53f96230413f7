package statusz

import (
	"slices"
	"strings"
	"sync"
	"time"

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
	id       uint64
	name     string
	open     []*throttle.Throttle // as they came
	draining []drain              // closed, but not in retired yet
	retired  []sums               // of the closed ones, by priority
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

// leave takes a closed throttle out of its row, and the row away with its last open member.
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
	r.draining = append(r.draining, drain{t, time.Now()})
	g.mu.Unlock()
	g.retire(r)
}

// retire lets go of a row's closed throttles whose calls have ended, and keeps their totals. It does so only while nobody reads: a
// reader may see a call more, of somebody who uses a closed throttle still, than there is in the totals that are kept. The end of the
// reading retires what had to wait for it.
func (g *registry) retire(r *row) {
	g.mu.Lock()
	draining, reads, busy := slices.Clone(r.draining), g.reads, g.readers > 0
	g.mu.Unlock()
	if busy {
		return
	}
	for _, d := range draining {
		if stats, _ := look(d.throttle); d.over(&stats) {
			g.keep(r, d, &stats, reads)
		}
	}
}

// keep adds the totals of a draining throttle to those of the retired, unless somebody else did, or has begun to read since.
func (g *registry) keep(r *row, d drain, stats *throttle.Stats, reads uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(r.draining, d)
	if i < 0 || g.reads != reads {
		return
	}
	r.draining = slices.Delete(r.draining, i, i+1)
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
			open: slices.Clone(r.open), draining: slices.Clone(r.draining), retired: slices.Clone(r.retired),
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
		if len(r.draining) > 0 {
			waiting = append(waiting, r)
		}
	}
	g.mu.Unlock()
	for _, r := range waiting {
		g.retire(r)
	}
}
