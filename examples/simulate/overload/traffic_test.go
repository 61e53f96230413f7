package overload

import "testing"

func TestDice(t *testing.T) {
	first := dice(1, "over5", "", "clients").Uint64()
	if again := dice(1, "over5", "", "clients").Uint64(); again != first {
		t.Errorf("the same dice draw %d and %d", first, again)
	}
	for what, other := range map[string]uint64{
		"seed":     dice(2, "over5", "", "clients").Uint64(),
		"scenario": dice(1, "over2", "", "clients").Uint64(),
		"case":     dice(1, "over5", "1", "clients").Uint64(),
		"purpose":  dice(1, "over5", "", "arrivals").Uint64(),
	} {
		if other == first {
			t.Errorf("another %s draws the same", what)
		}
	}
}
