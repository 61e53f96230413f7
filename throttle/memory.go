package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// memoryWindows is how many windows of an alert are remembered, and up to twice as many.
const memoryWindows = 3

// tierTotals is the counts of each tier since the throttle began.
type tierTotals [MaxPriorities]window.Counts

// remember moves the begin of what an alert remembers. A client of a large fleet has some ten answers in a
// window: by these alone, tiers with the same backend seem to differ, and its share of the capacity seems to
// change. Nothing of before the alert is remembered. An alert because of more demand remembers nothing: the
// demand changes.
func (m *monitor) remember(o *observation) {
	age := m.at - m.markAt
	switch {
	case m.mark == nil:
	case age >= memoryWindows*m.span:
		m.memory = m.mark
		m.setMark(o)
	case age >= m.span && m.memory == nil:
		m.memory = m.mark
	}
}

func (m *monitor) setMark(o *observation) {
	m.mark, m.markAt = new(tierTotals), m.at
	copy(m.mark[:], o.totals)
}

// known returns the counts of each tier that the stance remembers, in memory, or those of the window. A trial
// changes what is sent, so nothing else counts.
func (s *stance) known(r *window.Reading, memory *tierTotals) []window.Counts {
	if s.memory == nil || s.hold != noHold || r.Ever == nil {
		return r.Span
	}
	for p := range r.Ever {
		memory[p] = r.Ever[p].Minus(s.memory[p])
	}
	return memory[:len(r.Ever)]
}
