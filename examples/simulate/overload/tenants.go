package overload

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/spillway-go/spillway/throttle"
)

// Tenant is on whose behalf calls are made. All tenants of a scenario use all clients.
type Tenant struct {
	Share  float64 // of the calls, in relation to those of the others
	Weight float64 // see throttle.Tenants
}

// tenants returns the scenarios in which tenants send different numbers of calls: from many clients, and from
// one, which is how a server sees them.
func tenants() []Scenario {
	greedy := append(tenantsOf(99, 0.6/99, 1), Tenant{5.4, 1})
	weighted := slices.Concat(tenantsOf(10, 1, 1), tenantsOf(10, 1, 2), tenantsOf(10, 1, 4))
	with := func(tenants []Tenant) change { return func(s *Scenario) { s.Tenants = tenants } }
	from := func(n int, name, title string) []Scenario {
		return slices.Concat(
			row("tenants-greedy"+name, "99 tenants with 0.6 times the capacity together, and one with 5.4 times"+title,
				"60 mix=medium; 120! load=6 mix=medium; 60 mix=medium", with(greedy), keeps(n)),
			row("tenants-high"+name, "the same, and a tenth of the calls is High"+title,
				"60 mix=medium; 120! load=6 mix=tenth-high; 60 mix=medium", with(greedy), keeps(n)),
			row("tenants-zipf"+name, "1000 tenants by Zipf's law with 1.1, and 3 times the load"+title,
				"60 mix=medium; 120! load=3 mix=medium; 60 mix=medium", with(zipf(1000, 1.1)), keeps(n)),
			row("tenants-weights"+name, "30 equal tenants with weights 1, 2 and 4, and 5 times the load"+title,
				"60 mix=medium; 120! load=5 mix=medium; 60 mix=medium", with(weighted), keeps(n)))
	}
	return family("tenants", from(20, "", ""), from(1, "-local", ", at a server"))
}

func tenantsOf(n int, share, weight float64) []Tenant {
	return slices.Repeat([]Tenant{{share, weight}}, n)
}

// zipf returns n tenants, of which the k-th has a share of 1/k^s.
func zipf(n int, s float64) []Tenant {
	all := tenantsOf(n, 1, 1)
	for i := range all {
		all[i].Share = math.Pow(float64(i+1), -s)
	}
	return all
}

// tenantMix selects the tenants of calls.
type tenantMix struct {
	random *rand.Rand
	upTo   []float64 // sum of the shares
}

func newTenantMix(tenants []Tenant, random *rand.Rand) *tenantMix {
	if len(tenants) == 0 {
		return nil
	}
	m, sum := &tenantMix{random: random}, 0.0
	for _, t := range tenants {
		sum += t.Share
		m.upTo = append(m.upTo, sum)
	}
	return m
}

// pick returns the tenant of a call, or 0 in a scenario without tenants.
func (m *tenantMix) pick() int {
	if m == nil {
		return 0
	}
	x := m.random.Float64() * m.upTo[len(m.upTo)-1]
	return min(sort.SearchFloat64s(m.upTo, x), len(m.upTo)-1)
}

// tenantCounts counts the calls of a tenant in the second half of the disturbance.
type tenantCounts struct {
	Tenant
	Part
}

// Part has some of the calls of a second.
type Part struct{ Offered, Succeeded float64 }

// Add adds a share of q.
func (p *Part) Add(q Part, share float64) {
	p.Offered += share * q.Offered
	p.Succeeded += share * q.Succeeded
}

// setTenants prepares the record for the tenants of a scenario.
func (r *record) setTenants(tenants []Tenant) {
	for i, t := range tenants {
		r.tenants = append(r.tenants, tenantCounts{Tenant: t})
		if t.Share > tenants[r.largest].Share {
			r.largest = i
		}
	}
}

// fairShares returns how many calls each tenant gets if what all got is shared by max-min fairness.
func fairShares(counts []tenantCounts) []float64 {
	order, left, weights := make([]int, len(counts)), 0.0, 0.0
	for i, c := range counts {
		order[i], left, weights = i, left+c.Succeeded, weights+c.Weight
	}
	perWeight := func(i int) float64 { return counts[i].Offered / counts[i].Weight }
	sort.Slice(order, func(a, b int) bool { return perWeight(order[a]) < perWeight(order[b]) })
	shares := make([]float64, len(counts))
	for _, i := range order {
		shares[i] = min(counts[i].Offered, left*counts[i].Weight/weights)
		left, weights = left-shares[i], weights-counts[i].Weight
	}
	return shares
}

// tenantFigures returns the success of the calls of tenants below their fair share, Jain's index of what each
// tenant got of its share, and the smallest such part of all tenants with one weight.
func tenantFigures(counts []tenantCounts) (below, fair, least float64) {
	shares := fairShares(counts)
	var offered, succeeded float64
	var parts []float64
	got, due := map[float64]float64{}, map[float64]float64{}
	for i, c := range counts {
		if c.Offered == 0 {
			continue
		}
		parts = append(parts, c.Succeeded/shares[i])
		got[c.Weight] += c.Succeeded
		due[c.Weight] += shares[i]
		if shares[i] == c.Offered {
			offered, succeeded = offered+c.Offered, succeeded+c.Succeeded
		}
	}
	least = math.NaN()
	for weight := range got {
		least = worst(got[weight]/due[weight], least)
	}
	return succeeded / offered, jain(parts), least
}

// tenantAdmitter is a client that is fair to tenants.
type tenantAdmitter interface {
	AdmitOf(tenant string, p throttle.Priority) (Token, bool)
}

func (c throttled) AdmitOf(tenant string, p throttle.Priority) (Token, bool) {
	if !c.fair {
		return c.Admit(p)
	}
	call, err := c.throttle.Admit(throttle.WithTenant(context.Background(), tenant), p)
	return Token{Call: call}, err == nil
}

// weightOf returns the weights of the tenants of a scenario by key.
func (s *Scenario) weightOf() func(string) float64 {
	if len(s.Tenants) == 0 {
		return nil
	}
	weights := map[string]float64{}
	for i, t := range s.Tenants {
		weights[tenantName(i)] = t.Weight
	}
	return func(key string) float64 { return weights[key] }
}

func tenantName(i int) string { return fmt.Sprint("tenant ", i) }

// admit lets the client of a call decide about it.
func (s *simulation) admit(o offer) (Token, bool) {
	client := s.clients[o.client]
	if fair, ok := client.(tenantAdmitter); ok && s.tenants != nil {
		return fair.AdmitOf(tenantName(o.tenant), o.sentAs())
	}
	return client.Admit(o.sentAs())
}
