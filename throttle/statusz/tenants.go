package statusz

import (
	"github.com/spillway-go/spillway/throttle"
)

// maxTenants is how many tenants a row shows.
const maxTenants = 10

// tenantsDocument is the demand of the tenants of a row. Of several throttles, it is that of the one with the most
// tenants, because each has its own hashes; except Shed, which is the sum.
type tenantsDocument struct {
	Known int              `json:"known"`
	Above int              `json:"above"`
	Shed  uint64           `json:"shed"`
	Top   []tenantDocument `json:"top"`
}

type tenantDocument struct {
	ID    string  `json:"id"`
	Key   string  `json:"key,omitempty"`
	Share float64 `json:"share"`
	Above bool    `json:"above"`
}

// ShowTenants sets whether the page shows the keys of the ten tenants of a throttle that ask for most: see
// [throttle.WithTenant]. By default it shows only a hash, because a key may be the name of a customer. A key is
// shown from the tenant's next call on.
func (p *Page) ShowTenants(show bool) {
	if p.valid() {
		p.registry.showTenants.Store(show)
	}
}

// addTenants keeps the demand of the open throttle with the most tenants.
func (r *rowStats) addTenants(d throttle.TenantDemand) {
	if d.Known > r.tenants.Known {
		r.tenants = d
	}
}

// addTenants adds the tenants of the row, if there are some.
func (d *throttleDocument) addTenants(r *rowStats) {
	if r.tenants.Known == 0 {
		return
	}
	d.Tenants = &tenantsDocument{Known: r.tenants.Known, Above: r.tenants.Above}
	for p := range r.priorities {
		d.Tenants.Shed += r.priorities[p].Tenants.Shed
	}
	for _, t := range r.tenants.Top {
		d.Tenants.Top = append(d.Tenants.Top, tenantDocument{t.ID, t.Key, thousandths(t.Share), t.Above})
	}
}
