package fairness

import (
	"iter"
	"math"
	"sync/atomic"
	"time"
)

const (
	tick = 100 * time.Millisecond
	// memory is how long a call counts, in ticks: it fades by 1/e.
	memory = 300
	// numFades is the number of ticks whose fades are in a table; another table has those of multiples of it.
	numFades = 128

	sets, ways = 512, 8 // a set is one cache line

	// The fields of a cell, from the top: tag and row are its identity.
	tagBits, rowBits, aboveBits, tickBits, countBits = 16, 5, 1, 14, 28

	idShift   = aboveBits + tickBits + countBits
	aboveFlag = 1 << (tickBits + countBits)
	tickMask  = 1<<tickBits - 1
	maxCount  = 1<<countBits - 1
	one       = 1 << 8 // a call, in units of the count

	// Of a tenant with more than manyCalls one call in few is counted, at random, and of one with more than
	// mostCalls one in fewest: processors would wait for each other's writes.
	manyCalls, few    = 1024 * one, 8
	mostCalls, fewest = 16384 * one, 64
)

// demand is the number of calls of each tenant in a row. Old calls fade.
type demand struct {
	cells [sets][ways]atomic.Uint64
	fades [2][numFades]float64 // by ticks, and by numFades ticks
	exact bool                 // count each call
}

func (d *demand) init(exact bool) {
	d.exact = exact
	for i := range numFades {
		d.fades[0][i] = math.Exp(-float64(i) / memory)
		d.fades[1][i] = math.Exp(-float64(i*numFades) / memory)
	}
}

// cell returns the set of a tenant and the identity of its cell. The sets of a tenant differ by row.
func (d *demand) cell(hash uint64, row int) (*[ways]atomic.Uint64, uint64) {
	id := idOf(hash)
	return &d.cells[id%sets^setShift(row)], uint64(id/sets)<<rowBits | uint64(row)
}

// idOf returns the ID of a tenant: its tag, and its set in row 0.
func idOf(hash uint64) uint32 {
	h := hash * 0xD1342543DE82EF95
	h ^= h >> 32
	return uint32(h>>(64-tagBits)*sets | h%sets)
}

// setShift is by what the set of a tenant in a row differs from the one in row 0.
func setShift(row int) uint32 { return uint32(row) * 37 % sets }

// tenantOf returns the ID of the tenant of a cell in a set.
func tenantOf(v uint64, set int) uint32 {
	return uint32(v>>(idShift+rowBits))*sets | uint32(set) ^ setShift(rowOf(v))
}

func rowOf(v uint64) int { return int(v >> idShift & (1<<rowBits - 1)) }

// add counts a call, and returns the number of calls of the tenant, and for how many calls this one counts: 0
// if it is not counted. Coin is random.
func (d *demand) add(hash uint64, row int, at, coin uint64) (c *atomic.Uint64, calls float64, counted uint64) {
	set, id := d.cell(hash, row)
	for i := range set {
		if v := set[i].Load(); v>>idShift == id {
			units, weight := d.calls(v, at), d.sample(v&maxCount)
			if coin&(weight-1) == 0 { // the weight is a power of two
				units, counted = min(units+float64(weight*one), maxCount), weight
				count(&set[i], v, at, units)
			}
			return &set[i], units / one, counted
		}
	}
	c = d.smallest(set, at)
	c.Store(id<<idShift | at&tickMask<<countBits | one)
	return c, 1, 1
}

// count adds calls to a cell with the value v. It loses some if processors count at the same time.
func count(c *atomic.Uint64, v, at uint64, units float64) {
	c.CompareAndSwap(v, v>>(tickBits+countBits)<<(tickBits+countBits)|at&tickMask<<countBits|uint64(units+0.5))
}

// sample returns n if one call in n is counted.
func (d *demand) sample(count uint64) uint64 {
	switch {
	case d.exact || count <= manyCalls:
		return 1
	case count <= mostCalls:
		return few
	}
	return fewest
}

func (d *demand) calls(v, at uint64) float64 {
	age := d.age(v, at)
	return float64(v&maxCount) * d.fades[0][age%numFades] * d.fades[1][age/numFades%numFades]
}

// age returns the ticks since a call was counted. A time that is later than at counts as at.
func (d *demand) age(v, at uint64) uint64 {
	age := (at - v>>countBits) & tickMask
	if age > tickMask/2 {
		return 0
	}
	return age
}

func (d *demand) smallest(set *[ways]atomic.Uint64, at uint64) *atomic.Uint64 {
	least, found := math.Inf(1), 0
	for i := range set {
		if n := d.calls(set[i].Load(), at); n < least {
			least, found = n, i
		}
	}
	return &set[found]
}

// mark stores in a cell whether its tenant takes more than its share.
func mark(c *atomic.Uint64, above bool) {
	v := c.Load()
	if above != (v&aboveFlag != 0) {
		c.CompareAndSwap(v, v^aboveFlag)
	}
}

// sweep empties the cells that were not used for long, before their ticks wrap around: in one set for each tick since the
// last one.
func (d *demand) sweep(at, last uint64) {
	for turn := at - min(at-last, sets) + 1; turn <= at; turn++ {
		set := &d.cells[turn%sets]
		for i := range set {
			if v := set[i].Load(); v != 0 && d.age(v, at) > 6*memory {
				set[i].CompareAndSwap(v, 0)
			}
		}
	}
}

// counted yields the cells whose calls still count, with their sets. Last is the last tick: their ticks may have wrapped
// around since then.
func (d *demand) counted(at, last uint64) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		if at > last+memory {
			return
		}
		for set := range d.cells {
			for i := range d.cells[set] {
				if v := d.cells[set][i].Load(); v != 0 && d.age(v, at) <= memory && !yield(set, v) {
					return
				}
			}
		}
	}
}

func (d *demand) clear() {
	for i := range d.cells {
		for j := range d.cells[i] {
			d.cells[i][j].Store(0)
		}
	}
}
