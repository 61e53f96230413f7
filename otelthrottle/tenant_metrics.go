package otelthrottle

import (
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

// tenantRows returns the metrics of tenants, for throttles that have shed, or might have shed, a call of one.
// No attribute names a tenant: there may be any number of them.
func tenantRows() []row[throttleSum] {
	ofKnown := func(read func(s *prioritySum, to *output, word string)) func(*throttleSum, *output) {
		return each(func(s *prioritySum, to *output, word string) {
			if s.Tenants.Known {
				read(s, to, word)
			}
		})
	}
	return []row[throttleSum]{
		{
			kind: gauge, name: semconv.MetricTenantsAbove, unit: "{tenant}",
			help: "Tenants that take more than their fair share.", keys: byPriority(),
			read: ofKnown(func(s *prioritySum, to *output, word string) { to.number(int64(s.Tenants.Above), word) }),
		},
		{
			kind: floatGauge, name: semconv.MetricTenantsLargest, unit: "1",
			help: "Share of the calls that the largest tenant has asked for.", keys: byPriority(),
			read: ofKnown(func(s *prioritySum, to *output, word string) { to.float(s.Tenants.Largest, word) }),
		},
		{
			kind: counter, name: semconv.MetricTenantsSheds, unit: "{call}",
			help: "Calls shed of tenants that took more than their fair share.", keys: byPriority(),
			read: ofKnown(func(s *prioritySum, to *output, word string) { to.count(s.Tenants.Shed, word) }),
		},
	}
}
