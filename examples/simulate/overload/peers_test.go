package overload

import (
	"testing"
)

// TestPeersShedInABubble checks that each peer sheds during an overload on virtual time.
func TestPeersShedInABubble(t *testing.T) {
	s := shortened(scenario(t, "over10"), 8)
	s.Clients = 10
	for _, p := range peers() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel() // as the command plays them
			f := play(t, s, p, 1, Options{Capacity: 300}).Figures
			if f.FalseShed > 0 || f.TimeToShed > 4 || f.Goodput < 0.2 {
				t.Errorf("got false shed %v, %v s to shed, goodput %v: want nothing, 4 s at most, 0.2 at least",
					f.FalseShed, f.TimeToShed, f.Goodput)
			}
		})
	}
}

// TestPeersSeededByTime checks that the seed decides about random numbers that are seeded by the time.
func TestPeersSeededByTime(t *testing.T) {
	s := shortened(scenario(t, "over10"), 20)
	s.Clients = 10
	for _, name := range []string{"gozero", "aegis", "gobreaker"} {
		t.Run(name, func(t *testing.T) {
			p := policy(t, name)
			one, again := Outcome{}, Outcome{}
			t.Run("one", func(t *testing.T) { one = play(t, s, p, 1, fewer()) })
			t.Run("again", func(t *testing.T) { again = play(t, s, p, 1, fewer()) })
			if bits(one) != bits(again) {
				t.Errorf("the same seed: got\n%+v, then\n%+v", one.Figures, again.Figures)
			}
		})
	}
}
