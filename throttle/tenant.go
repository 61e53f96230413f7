package throttle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/fairness"
)

// Tenants configures how the tenants of [WithTenant] share what a throttle admits.
type Tenants struct {
	// Weight returns how many shares a tenant has: one with weight 2 gets twice as much as one with
	// weight 1 before it is shed. 1/64 to 64; a value out of range becomes the nearest bound. NaN, 0, a
	// negative or infinite value and a panic are 1. It is called for each call that may be shed, on the
	// goroutine of the call, so it must be fast and must not block. Default: 1 for each tenant.
	Weight func(key string) float64
}

// WithTenant returns a copy of ctx with the tenant on whose behalf calls are made: a customer, a user, or
// another program. While a throttle sheds calls of a priority, it sheds first from the tenants that take
// more than their fair share of it. As many calls are shed as without tenants, and a lower priority is still
// shed before a higher one.
//
// Calls without a tenant are together one tenant, with the key "". A tenant that is the only one of its
// priority changes nothing. Nothing is sent to other processes. Each caller of a server can get a share, so
// use a key that callers cannot choose freely, such as an authenticated account. A caller with many keys
// has as many shares.
func WithTenant(ctx context.Context, key string) context.Context {
	c := &callContext{Context: ctx, tenant: key}
	if outer := contextOf(ctx); outer != nil {
		c.priority, c.prioritized = outer.priority, outer.prioritized
	}
	return c
}

// TenantFromContext returns the tenant of ctx, or "".
func TenantFromContext(ctx context.Context) string {
	if c := contextOf(ctx); c != nil {
		return c.tenant
	}
	return ""
}

// tenants is what a throttle has of its tenants.
type tenants struct {
	weight func(key string) float64
	table  atomic.Pointer[fairness.Table] // nil before the first call of a tenant that was to be shed
}

// asksTenant reports whether the tenant of a call matters. Before the first one whose call is to be shed, none does.
func (a *attempt) asksTenant(sheds bool) bool {
	return sheds && a.tenant || a.throttle.tenants.table.Load() != nil
}

// ofTenant returns the decision for the tenant of a call, from the decision for all calls of a row. The rows
// after the priorities are those of calls that wait for a processor.
func (a *attempt) ofTenant(d decision.Packed, row int, now time.Duration, coin uint64) decision.Packed {
	p := d.Probability()
	if p == 0 {
		return d
	}
	t, key := a.throttle, TenantFromContext(a.ctx)
	table := t.tenants.table.Load()
	if table == nil {
		if key == "" {
			return d
		}
		table = t.newTenantTable()
	}
	own, above := table.Decide(key, row, int(a.stripe), now, p, coin)
	if own != p {
		d = d.Is(own)
	}
	if above {
		d = d.With(aboveShare)
	}
	return d
}

// newTenantTable makes the table. If two goroutines do so at once, both use the same one.
func (t *Throttle) newTenantTable() *fairness.Table {
	fresh := fairness.New(fairness.Config{
		Rows: 2 * t.priorities, Stripes: t.window.Stripes(), Weight: t.tenants.weight, Exact: t.now != nil,
	})
	t.tenants.table.CompareAndSwap(nil, fresh)
	return t.tenants.table.Load()
}

func (t *Throttle) fillTenants(priorities []PriorityStats) {
	table := t.tenants.table.Load()
	if table == nil {
		return
	}
	rows := table.Rows(t.elapsed())
	for p := range priorities {
		row, s := rows[t.tenantRow(rows, p)], &priorities[p].Tenants
		s.Known, s.Above, s.Largest = true, row.Above, row.Largest
	}
}

// sparesTenants reports whether calls are admitted because their tenants take less than their share.
func (t *Throttle) sparesTenants() bool {
	table := t.tenants.table.Load()
	return table != nil && table.Spares(t.bucketAt())
}
