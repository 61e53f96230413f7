package decision

import "testing"

// TestCache_draw checks that the draws of a stripe are uniform, and that each is independent of the
// one before.
func TestCache_draw(t *testing.T) {
	const draws, cells = 50_000, 20
	for stripe := range stripes {
		r := newRig(1, nil)
		var counts [cells]int
		var pairs [cells * cells]int
		seen := map[uint64]bool{}
		before := uint64(0)
		for event := range uint64(draws) {
			draw := r.draw(stripe, event)
			seen[draw] = true
			cell := draw * cells / scale
			counts[cell]++
			pairs[before*cells+cell]++
			before = cell
		}
		if len(seen) != draws {
			t.Errorf("stripe %d: %d of %d draws are not new", stripe, draws-len(seen), draws)
		}
		if chi := chiSquared(counts[:], draws); chi > 60 { // one in half a million with 19 degrees of freedom
			t.Errorf("stripe %d: chi-squared is %.1f over %v", stripe, chi, counts)
		}
		if chi := chiSquared(pairs[:], draws); chi > 550 { // one in a million with 399 degrees of freedom
			t.Errorf("stripe %d: chi-squared of pairs is %.1f", stripe, chi)
		}
	}
}

func chiSquared(counts []int, draws int) float64 {
	chi, want := 0.0, float64(draws)/float64(len(counts))
	for _, n := range counts {
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	return chi
}
