package fairness

import (
	"cmp"
	"slices"
	"time"
)

// Tenant is what one tenant asks for.
type Tenant struct {
	ID    uint32 // a part of the hash of its key
	Calls float64
	Above bool // it takes more than its share in a row
}

// Tenants returns the tenants of some rows, the ones with the most calls first.
func (t *Table) Tenants(now time.Duration, rows []int) []Tenant {
	at := tickOf(now)
	sums := map[uint32]Tenant{}
	for set, v := range t.demand.counted(at, t.shares.at.Load()) {
		if slices.Contains(rows, rowOf(v)) {
			id := tenantOf(v, set)
			sums[id] = Tenant{id, sums[id].Calls + t.demand.calls(v, at)/one, sums[id].Above || v&aboveFlag != 0}
		}
	}
	all := make([]Tenant, 0, len(sums))
	for _, tenant := range sums {
		all = append(all, tenant)
	}
	slices.SortFunc(all, func(a, b Tenant) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.ID, b.ID)) })
	return all
}

// ID returns the ID of the tenant with a key.
func (t *Table) ID(key string) uint32 { return idOf(t.hash(key)) }
