package statusz

import (
	"slices"

	"github.com/spillway-go/spillway/throttle"
)

// addLoad keeps what the members say to their clients, and the worst that their backends say.
func (r *rowStats) addLoad(s *throttle.Stats) {
	if s.SendsLoad {
		word := "calm"
		if s.Load.Overloaded {
			word = "overloaded"
		}
		r.told = worse(r.told, word)
	}
	if s.Received.Known {
		r.received = worse(r.received, s.Received.String())
	}
}

// worse returns the worse one of two words. An empty one is no word.
func worse(a, b string) string {
	order := []string{"", "calm", "mixed", "doubted", "overloaded"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}
