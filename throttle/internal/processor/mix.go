package processor

import (
	"math"
	"slices"
)

// MaxPriorities is the number of priorities.
const MaxPriorities = 16

// mixMemory is how long a call counts, in seconds.
const mixMemory = 1.0

// mix is the demand of about the last second by priority, and the probability of shedding each.
type mix struct {
	calls [MaxPriorities]float64 // older ones fade
	time  float64                // for which they are the calls
	drop  [MaxPriorities]float64
}

func (m *mix) add(calls *[MaxPriorities]uint64, dt float64) {
	fade := math.Exp(-dt / mixMemory)
	for p, n := range calls {
		m.calls[p] = m.calls[p]*fade + float64(n)
	}
	m.time = m.time*fade + dt
}

func (m *mix) rate() float64 {
	if m.time == 0 {
		return 0
	}
	return m.sum() / m.time
}

func (m *mix) sum() (sum float64) {
	for _, n := range m.calls {
		sum += n
	}
	return sum
}

// spread spreads a share of the demand to shed over the priorities, lowest first. A priority without
// demand has the probability of the next lower one, so that its first call is no exception.
func (m *mix) spread(share float64) {
	left, before := share*m.sum(), min(1, share*1e9)
	for p := MaxPriorities - 1; p >= 0; p-- {
		if m.calls[p] > 0 {
			before = min(1, left/m.calls[p])
			left = max(0, left-m.calls[p])
		}
		m.drop[p] = before
	}
}

// topShed returns the probability of the highest priority that calls come with, or 0 if there is no lower one.
func (m *mix) topShed() float64 {
	comes := func(calls float64) bool { return calls > 0.5 } // one call of the last moment
	top := slices.IndexFunc(m.calls[:], comes)
	if top < 0 || !slices.ContainsFunc(m.calls[top+1:], comes) {
		return 0
	}
	return m.drop[top]
}
