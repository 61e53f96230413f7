package overload

import "testing"

func TestNewRand(t *testing.T) {
	first := newRand(1, "over5", "", "clients").Uint64()
	if again := newRand(1, "over5", "", "clients").Uint64(); again != first {
		t.Errorf("the same generator returns %d and %d", first, again)
	}
	for what, other := range map[string]uint64{
		"seed":     newRand(2, "over5", "", "clients").Uint64(),
		"scenario": newRand(1, "over2", "", "clients").Uint64(),
		"case":     newRand(1, "over5", "1", "clients").Uint64(),
		"purpose":  newRand(1, "over5", "", "arrivals").Uint64(),
	} {
		if other == first {
			t.Errorf("another %s returns the same", what)
		}
	}
}
