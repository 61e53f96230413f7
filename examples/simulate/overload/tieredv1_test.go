package overload

import (
	"math"
	"testing"
)

// TestTieredV1 compares with the figures of policy Tiered at that time. They were the same to the last
// digit, but other processors may round differently.
func TestTieredV1(t *testing.T) {
	for name, want := range map[string][3]float64{
		"over5": {0.9639, 0.8673, 0.6290}, "half": {0.9416, 0.6318, 0.0387}, "errors30": {0.9989, 0.6855, 0.0011},
	} {
		f := play(t, scenario(t, name), policy(t, "tiered-v1"), 1, Options{Clients: 23, Capacity: 230}).Figures
		for i, got := range [3]float64{f.Goodput, f.Success[0], f.ShedAll} {
			if math.Abs(got-want[i]) > 0.005 {
				t.Errorf("%s: got goodput %v, High %v and %v shed, want %v", name, f.Goodput, f.Success[0], f.ShedAll, want)
				break
			}
		}
	}
}
