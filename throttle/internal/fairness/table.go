package fairness

import (
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"
)

// The range of a weight.
const (
	LeastWeight = 1.0 / 64
	MostWeight  = 64.0
)

// leastFair is the fair rate, in calls of the memory, from which on fairness begins. It is complete at twice as
// many. With less, tenants look alike, because each of their calls may be the only one. So a caller
// with a hundred thousand keys cannot make every other tenant look greedy.
const leastFair = 1.0

// lately is in ticks.
const lately = 20

// Config describes a Table.
type Config struct {
	Rows    int // at most 32
	Stripes int
	// Weight returns how many shares a tenant has. Nil: one.
	Weight func(key string) float64
	// Exact makes equal calls give equal results, for simulations. Keys are then hashed without a seed.
	Exact bool
}

// Table has the demand of each tenant by row. A row is a set of calls that is shed with one probability. It
// has a fixed size of less than 64 KB. All methods are safe for concurrent use.
type Table struct {
	seed   maphash.Seed
	exact  bool
	weight func(key string) float64
	demand demand
	shares shares
	names  names
	spared atomic.Uint64 // the tick of the last call that is not to be shed because of its tenant
}

// New returns an empty table.
func New(c Config) *Table {
	t := &Table{seed: maphash.MakeSeed(), exact: c.Exact, weight: c.Weight}
	t.demand.init(c.Exact)
	t.shares.init(c.Rows, c.Stripes)
	return t
}

// hash returns the hash of a key: with a seed, unless the table is exact.
func (t *Table) hash(key string) uint64 {
	if t.exact {
		return fnv(key)
	}
	return maphash.String(t.seed, key)
}

// Decide counts a call of a tenant, in a row of which the share p is to be shed. It returns the probability
// with which the call is to be shed, and whether the tenant takes more than its share. Coin is random.
func (t *Table) Decide(key string, row, stripe int, now time.Duration, p float64, coin uint64) (probability float64, above bool) {
	at, hash := tickOf(now), t.hash(key)
	last := t.shares.at.Load()
	turns := at > last || hasJumpedBack(at, last)
	if turns {
		t.keep(at, last)
	}
	if t.names.wanted() {
		t.names.note(hash, key)
	}
	cell, calls, counted := t.demand.add(hash, row, at, coin)
	scale := t.shares.demandScale()
	x := calls * scale
	if t.weight != nil {
		x /= t.weightOf(key)
	}
	if counted > 0 {
		t.shares.add(row, stripe, x, counted, coin)
	}
	if turns {
		t.shares.collect(at)
	}
	r := &t.shares.rates[row]
	if r.alone(hash) {
		return p, false
	}
	if !r.isFor(p) {
		t.shares.update(row, p)
	}
	fair, least := r.rate(), leastFair*scale
	if fair <= least {
		return p, false
	}
	if above = x > fair; above {
		probability = 1 - fair/x
	}
	mark(cell, above)
	if !above && t.spared.Load() != at {
		t.spared.Store(at)
	}
	if trust := fair/least - 1; trust < 1 {
		probability = trust*probability + (1-trust)*p
	}
	return probability, above
}

// tickOf returns the number of a tick, from 1 on. A time before New counts as that of New: clocks come from users.
func tickOf(now time.Duration) uint64 { return uint64(max(0, now)/tick) + 1 }

// hasJumpedBack reports whether a clock has gone back so far from the last tick that all is forgotten, as after a pause.
func hasJumpedBack(at, last uint64) bool { return at+idle < last }

// Spares reports whether a call was spared lately: it was not to be shed because its tenant takes less than its share.
func (t *Table) Spares(now time.Duration) bool {
	spared, at := t.spared.Load(), tickOf(now)
	return spared > 0 && at <= spared+lately && spared <= at+lately
}

// keep empties what is old. Last is the last tick.
func (t *Table) keep(at, last uint64) {
	if at > last && at-last <= idle {
		t.demand.sweep(at, last)
		return
	}
	t.demand.clear()
	for i := range t.shares.rates {
		t.shares.rates[i].first.Store(0)
	}
}

// weightOf returns the weight of a tenant. It is 1 if the function panics or returns no usable number.
func (t *Table) weightOf(key string) (w float64) {
	defer func() {
		if recover() != nil {
			w = 1
		}
	}()
	w = t.weight(key)
	if !(w > 0) || math.IsInf(w, 1) {
		return 1
	}
	return min(max(w, LeastWeight), MostWeight)
}

// Row is the state of a row.
type Row struct {
	Calls   float64 // of the last 30 s
	Above   int     // tenants that take more than their share
	Largest float64 // share of the demand of the largest tenant
}

// Rows returns the state of each row.
func (t *Table) Rows(now time.Duration) []Row {
	at := tickOf(now)
	rows := make([]Row, t.shares.rows)
	for _, v := range t.demand.counted(at, t.shares.at.Load()) {
		row, calls := &rows[rowOf(v)], t.demand.calls(v, at)/one
		if v&aboveFlag != 0 {
			row.Above++
		}
		row.Largest = max(row.Largest, calls)
		row.Calls += calls
	}
	for i := range rows {
		if rows[i].Calls > 0 {
			rows[i].Largest /= rows[i].Calls
		}
	}
	return rows
}

func fnv(key string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	return h ^ h>>29
}
