package throttle

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/internal/fairness"
)

// TenantDemand says how the tenants of [WithTenant] share a throttle, all priorities together. It is of the
// last 30 s in which calls might have been shed.
type TenantDemand struct {
	Known int           // tenants
	Above int           // those that take more than their fair share of a priority
	Top   []TenantCalls // those that ask for most, most first
	_     struct{}      // keyed literals only
}

// TenantCalls is what one tenant asks for.
type TenantCalls struct {
	ID    string   // from a hash of the key, the same for the life of a throttle; "" for calls without a tenant
	Key   string   // "" if it is not kept
	Share float64  // of the calls of all tenants
	Above bool     // it takes more than its fair share of a priority
	_     struct{} // keyed literals only
}

// TopTenants returns the demand of the tenants, with up to n of them, but with their keys of at most 10. It is zero
// before the first call of a tenant that was to be shed.
//
// A throttle has only hashes of keys. With keys, it keeps those of the returned tenants from the next call of
// each on, cut to 48 bytes, until TopTenants is called with keys again.
func (t *Throttle) TopTenants(n int, keys bool) TenantDemand {
	if !t.valid() {
		return TenantDemand{}
	}
	table := t.tenants.table.Load()
	if table == nil {
		return TenantDemand{}
	}
	now := t.elapsed()
	state, rows := table.Rows(now), make([]int, t.priorities)
	for p := range rows {
		rows[p] = t.tenantRow(state, p)
	}
	all := table.Tenants(now, rows)
	d, calls := TenantDemand{Known: len(all)}, 0.0
	for i := range all {
		calls += all[i].Calls
		if all[i].Above {
			d.Above++
		}
	}
	all = all[:max(0, min(n, len(all)))]
	if keys {
		table.Keep(all)
	}
	none := table.ID("")
	for _, tenant := range all {
		c := TenantCalls{Share: tenant.Calls / calls, Above: tenant.Above}
		if tenant.ID != none {
			c.ID = fmt.Sprintf("%07x", tenant.ID)
		}
		if keys {
			c.Key = table.Key(tenant.ID)
		}
		d.Top = append(d.Top, c)
	}
	return d
}

// tenantRow returns the one of the two rows of a priority that has more demand.
func (t *Throttle) tenantRow(rows []fairness.Row, p int) int {
	if local := t.priorities + p; rows[local].Calls > rows[p].Calls {
		return local
	}
	return p
}
