package backoff

import (
	"math"
	"time"
)

// Step is how the delay grows when the service throttles: see [Exponential] and [Linear]. The zero Step is that of the settings.
type Step struct {
	initial, longest time.Duration
	add              time.Duration
	multiplier       float64
}

// Linear adds the same to each delay, up to the longest: 1s, 2s, 3s, ...
func Linear(interval, longest time.Duration) Step {
	return Step{add: interval, longest: longest}
}

// Exponential multiplies each delay, up to the longest: with 1s and 2, 1s, 2s, 4s, 8s, ...
func Exponential(initial, longest time.Duration, multiplier float64) Step {
	return Step{initial: initial, longest: longest, multiplier: multiplier}
}

// Next returns the delay that follows one. The first follows none.
func (s Step) Next(current time.Duration) time.Duration {
	current = max(0, current)
	switch {
	case s.multiplier == 0 && current > s.longest-s.add:
		return s.longest
	case s.multiplier == 0:
		return current + s.add
	case current == 0:
		return min(s.initial, s.longest)
	}
	product := float64(current) * s.multiplier
	if product >= float64(s.longest) || math.IsNaN(product) {
		return s.longest
	}
	return time.Duration(product)
}

// sound reports whether delays grow by it.
func (s Step) sound() bool {
	return s.longest > 0 && (s.multiplier == 0 && s.add > 0 || s.multiplier > 1 && s.initial > 0)
}
