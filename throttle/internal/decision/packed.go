package decision

// Packed is a decision in one word: the probability of shedding, and flags of the policy.
type Packed uint64

const (
	flagBits = 6
	// scale is the number of units in a probability of 1.
	scale = 1 << 53

	// Largest is the largest probability. It is less than 1, so that some calls are always admitted.
	Largest = 1 - 1.0/scale
)

// Pack returns a decision. The probability must be in [0, Largest], the flags less than 64.
func Pack(probability float64, flags uint64) Packed {
	return Packed(uint64(probability*scale)<<flagBits | flags)
}

// Probability returns the probability of shedding.
func (p Packed) Probability() float64 { return float64(p.units()) / scale }

// Has reports whether a flag is set.
func (p Packed) Has(flag uint64) bool { return uint64(p)&flag != 0 }

// With returns the decision with another flag.
func (p Packed) With(flag uint64) Packed { return p | Packed(flag) }

// Is returns the decision with another probability.
func (p Packed) Is(probability float64) Packed {
	return Pack(min(probability, Largest), uint64(p)&(1<<flagBits-1))
}

// Sheds reports whether a draw is to shed the call.
func (p Packed) Sheds(draw uint64) bool { return draw < p.units() }

func (p Packed) units() uint64 { return uint64(p) >> flagBits }

// draw returns a random number less than scale. No two events of a stripe have the same number. So
// a hash of it (the finalizer of SplitMix64) is as random as a generator with a state of its own,
// and costs less.
func (c *Cache) draw(stripe int, event uint64) uint64 {
	if c.rand != nil {
		return unitsOf(c.rand())
	}
	z := c.seed + event*0x9E3779B97F4A7C15 + uint64(stripe)*0xD1342543DE82EF95
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return (z ^ z>>31) >> 11
}

// unitsOf converts a random number, which should be in [0, 1).
func unitsOf(r float64) uint64 {
	if r > 0 {
		return uint64(min(r, Largest) * scale)
	}
	return 0
}
