package throttle_test

import (
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestPriorityStats_Merge adds a priority to an empty one, which becomes the same, and once more from a closed throttle: the totals
// double, and the state stays.
func TestPriorityStats_Merge(t *testing.T) {
	one := throttle.PriorityStats{
		Probability: 0.5, Cause: throttle.CauseAbove, Told: 0.25, Admitted: 1, InFlight: 2, Overloaded: 3, Clamped: 4,
		Window:  throttle.WindowStats{Accepted: 1, Rejected: 2, Shed: 3},
		Slow:    throttle.SlowTotals{Late: 1, Booked: 2, WrittenOff: 3, WouldRefuse: 4, Limit: 5},
		Tenants: throttle.TenantStats{Known: true, Above: 1, Largest: 0.5, Shed: 2},
	}
	one.Ended.Add(throttle.Accepted, throttle.FaultNone, 1)
	one.Fallbacks.Add(throttle.Rejected, throttle.FaultOther, 2)
	one.Shed.Add(throttle.CauseLimit, 3)
	if err := one.ShadowShed.UnmarshalJSON([]byte(`{"own":[{"outcome":"accepted","fault":"none","calls":4}]}`)); err != nil {
		t.Fatal(err)
	}
	var sum throttle.PriorityStats
	sum.Merge(&one, true)
	equal(t, "one", sum, one)
	sum.Merge(&one, false)
	twice := one
	twice.Admitted, twice.Overloaded, twice.Clamped, twice.Tenants.Shed = 2, 6, 8, 4
	twice.Slow = throttle.SlowTotals{Late: 2, Booked: 4, WrittenOff: 6, WouldRefuse: 8, Limit: 5}
	twice.Ended.Merge(one.Ended)
	twice.Fallbacks.Merge(one.Fallbacks)
	twice.Shed.Merge(one.Shed)
	twice.ShadowShed.Merge(one.ShadowShed)
	equal(t, "and a closed one", sum, twice)
	worse := throttle.PriorityStats{Probability: 0.75, Cause: throttle.CauseOwn, InFlight: 7, Slow: throttle.SlowTotals{Limit: 3}}
	sum.Merge(&worse, true)
	twice.Probability, twice.Cause, twice.InFlight, twice.Slow.Limit = 0.75, throttle.CauseOwn, 9, 3
	equal(t, "and a worse one", sum, twice)
}
