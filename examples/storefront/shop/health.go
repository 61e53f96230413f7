package shop

import "fmt"

// Health is how a backend is.
type Health uint8

const (
	// Up is a backend with all of its capacity.
	Up Health = iota
	// Brownout is a backend that has lost three quarters of its capacity.
	Brownout
	// Down is a backend that rejects every call.
	Down
)

// String returns the health's word: "up", "brownout" or "down".
func (h Health) String() string {
	switch h {
	case Up:
		return "up"
	case Brownout:
		return "brownout"
	case Down:
		return "down"
	}
	return fmt.Sprintf("health(%d)", uint8(h))
}

// ParseHealth returns the health that a word stands for.
func ParseHealth(word string) (h Health, ok bool) {
	for h = Up; h <= Down; h++ {
		if h.String() == word {
			return h, true
		}
	}
	return Up, false
}

// factor is the part of the capacity that is left.
func (h Health) factor() float64 {
	switch h {
	case Up:
		return 1
	case Brownout:
		return 0.25
	}
	return 0
}
