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

// tenantRows have 99 tenants with 0.6x together, and one with 5.4x.
func tenantRows() []row {
	alone := steady("99 tenants 0.6x, one 5.4x", 6, modestAtLeast(97))
	beside := steady("99 tenants 0.6x, one 5.4x, 10 % High", 6, highAtLeast(99))
	beside.highShare = 0.1
	rows := []row{alone, beside}
	for i := range rows {
		rows[i].tenants, rows[i].subjects = true, []string{subjectUnfair, subjectOurs}
	}
	return rows
}

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

// modestAtLeast is about the tenants that send less than their share.
func modestAtLeast(limit float64) bound {
	return bound{what: "the 99", limit: limit, unit: "%", of: (*run).modestSuccess}
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
