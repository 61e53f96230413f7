package otelthrottle

import (
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

// tenantRows returns the metrics of tenants, for throttles that have shed, or might have shed, a call of one.
// No attribute names a tenant: there may be any number of them.
func tenantRows() []row[throttleSum] {
	known := func(read func(s *prioritySum, to *output, word string)) func(*prioritySum, *output, string) {
		return func(s *prioritySum, to *output, word string) {
			if s.Tenants.Known {
				read(s, to, word)
			}
		}
	}
	return []row[throttleSum]{
		perPriority(gauge, semconv.MetricTenantsAbove, "{tenant}", "Tenants that take more than their fair share.",
			known(func(s *prioritySum, to *output, word string) { to.number(int64(s.Tenants.Above), word) })),
		perPriority(floatGauge, semconv.MetricTenantsLargest, "1", "Share of the calls that the largest tenant has asked for.",
			known(func(s *prioritySum, to *output, word string) { to.float(s.Tenants.Largest, word) })),
		perPriority(counter, semconv.MetricTenantsSheds, "{call}", "Calls shed of tenants that took more than their fair share.",
			known(func(s *prioritySum, to *output, word string) { to.count(s.Tenants.Shed, word) })),
	}
}
