package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/spillway-go/spillway/throttle"
)

// tenantHeader carries the tenant of a request.
const tenantHeader = "Benchmark-Tenant"

// modestTenants send a tenth of the requests together. The greedy tenant sends all others.
const (
	modestTenants = 99
	greedyTenant  = "greedy"
)

// crowd gives each arrival a tenant, and the priority Medium or High.
func crowd(seed uint64, arrivals []arrival, highShare float64) {
	random := rand.New(rand.NewPCG(seed, 44))
	for i := range arrivals {
		a := &arrivals[i]
		a.tenant, a.priority = greedyTenant, throttle.Medium
		if random.Float64() < 0.1 {
			a.tenant = fmt.Sprint("tenant ", random.IntN(modestTenants))
		}
		if random.Float64() < highShare {
			a.priority = throttle.High
		}
	}
}

// modestSuccess returns the success of all tenants but the greedy one.
func (r *run) modestSuccess() float64 {
	var modest []record
	for _, rec := range r.measured() {
		if rec.tenant != greedyTenant {
			modest = append(modest, rec)
		}
	}
	return count(modest).success()
}
