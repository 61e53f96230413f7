package throttle_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestTotals(t *testing.T) {
	var totals throttle.Totals
	equal(t, "sum of nothing", totals.Sum(), 0)
	for o := range throttle.Outcomes() {
		for f := range throttle.Faults() {
			totals.Add(o, f, uint64(1<<(2*o)))
		}
	}
	const numFaults = uint64(throttle.FaultOther) + 1
	for o, want := range []uint64{1 * numFaults, 4 * numFaults, 16 * numFaults, 64 * numFaults} {
		equal(t, throttle.Outcome(o).String(), totals.Outcome(throttle.Outcome(o)), want)
	}
	equal(t, "Sum", totals.Sum(), 85*numFaults)
	totals.Add(throttle.Rejected, throttle.FaultQuota, 1)
	equal(t, "quota", totals.Fault(throttle.FaultQuota), 86)
	equal(t, "timeout", totals.Fault(throttle.FaultTimeout), 85)
	equal(t, "rejected quota", totals.Count(throttle.Rejected, throttle.FaultQuota), 5)
	totals.Add(throttle.Shed+1, throttle.FaultNone, 1)
	totals.Add(throttle.Accepted, throttle.FaultOther+1, 1)
	equal(t, "after undefined values", totals.Sum(), 85*numFaults+1)
	equal(t, "of undefined values", totals.Count(255, 255)+totals.Outcome(255)+totals.Fault(255), 0)
	var causes throttle.CauseTotals
	causes.Add(throttle.CauseTold+1, 1)
	equal(t, "causes", causes, throttle.CauseTotals{})
	equal(t, "undefined cause", causes.Count(255), 0)
	equal(t, "undefined cause in shadow", throttle.ShadowTotals{}.Cause(255), throttle.Totals{})
	equal(t, "requests", throttle.WindowStats{Accepted: 1, Rejected: 20, Shed: 300}.Requests(), 321)
}

func TestTotalsAsJSON(t *testing.T) {
	var totals throttle.Totals
	totals.Add(throttle.Rejected, throttle.FaultTimeout, 3)
	for value, want := range map[any]string{
		totals:                         `[{"Outcome":"rejected","Fault":"timeout","Calls":3}]`,
		throttle.Totals{}:              `[]`,
		shedBy(throttle.CauseAbove, 2): `{"above":2,"limit":0,"own":0,"processor":0,"told":0}`,
		throttle.ShadowTotals{}:        `{"above":[],"limit":[],"own":[],"processor":[],"told":[]}`,
		throttle.Total{Calls: 1}:       `{"Outcome":"accepted","Fault":"none","Calls":1}`,
		throttle.CauseTotals{}:         `{"above":0,"limit":0,"own":0,"processor":0,"told":0}`,
	} {
		text, err := json.Marshal(value)
		equal(t, "error", err, nil)
		equal(t, fmt.Sprintf("%T", value), string(text), want)
	}
	for _, text := range []string{`[{"Outcome":"nonsense"}]`, `{}`, `7`} {
		for _, v := range []any{&totals, new(throttle.CauseTotals), new(throttle.ShadowTotals)} {
			if err := json.Unmarshal([]byte(text), v); err == nil && (text != `{}` || v == &totals) {
				t.Errorf("Unmarshal(%s) into %T: got no error", text, v)
			}
		}
	}
	equal(t, "totals after bad input", totals.Sum(), 3)
	for range totals.All() {
		break // must not panic
	}
}
