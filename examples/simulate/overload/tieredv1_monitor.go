package overload

import (
	"math"
	"time"
)

// The constants of the monitor.
const (
	v1UsualRatio, v1OverloadRatio      = 0.36, 0.70
	v1UsualRise, v1OverloadRise        = 0.05, 0.20
	v1RatioLimit, v1FewAnswers         = 7.5, 50
	v1RiseLimit, v1LargestRise         = 4, 12
	v1GrownShare, v1GrownDeviations    = 0.2, 3
	v1BackInWindow, v1BackRecently     = 1.2, 1.5
	v1MostWhenBack                     = 0.4
	v1BlockLength, v1LargestBackground = 10 * time.Second, 0.4
	v1KnownBlocks, v1MaxBlocks         = 3, 6
)

// monitorV1 decides whether the throttle is in alert.
type monitorV1 struct {
	alert, open bool
	background  float64
	since       time.Duration
	at          time.Duration // begin of the open bucket at the last update
	ever        countsV1      // at the last update
	ratio, rise likelihoodV1
	blocks      [v1MaxBlocks]blockV1 // of quiet time, the newest last
	known       int                  // number of blocks
	blockAt     time.Duration
	blockEver   countsV1
	grown       bool          // the alert began with more demand
	earlier     float64       // demand before the alert, in calls per second
	lastShed    time.Duration // during an alert
}

// blockV1 is a part of the quiet time.
type blockV1 struct{ seconds, demand, rejected, answers float64 }

func (m *monitorV1) update(w *windowV1) {
	at := time.Duration(w.open) * v1Width
	fresh, later, span := w.ever, at > m.at, sumV1(&w.span)
	fresh.add(m.ever, -1)
	m.at, m.ever = at, w.ever
	switch {
	case span.requests() == 0:
		m.forget()
	case !m.alert:
		m.ratio.add(fresh)
		m.rise.add(fresh)
		m.watch(w, span)
	case later:
		m.checkEnd(w, span)
	}
}

func (m *monitorV1) forget() {
	*m = monitorV1{at: m.at, ever: m.ever, since: m.since, blockAt: m.at, blockEver: m.ever}
	m.setRatios()
}

func (m *monitorV1) setRatios() {
	m.background = 0
	if m.known >= v1KnownBlocks {
		quiet := m.blocks[v1MaxBlocks-m.known:]
		m.background = min(v1LargestBackground, rejectedV1(quiet[:m.known/2]), rejectedV1(quiet[m.known/2:]))
	}
	m.ratio.distinguish(v1UsualRatio, v1OverloadRatio)
	m.rise.distinguish(m.background+v1UsualRise, m.background+v1OverloadRise)
}

func rejectedV1(blocks []blockV1) float64 {
	var rejected, answers float64
	for _, b := range blocks {
		rejected, answers = rejected+b.rejected, answers+b.answers
	}
	return rejected / max(1, answers)
}

// watch begins an alert, or stays quiet.
func (m *monitorV1) watch(w *windowV1, span countsV1) {
	switch {
	case m.ratio.sum > v1RatioLimit && m.ratio.sum > v1RatioLimit+math.Log(span.answers()/v1FewAnswers),
		m.rise.sum > v1RiseLimit && m.hasGrown(w),
		!m.open && span.shed > 0 && span.requests() > v1Ratio*span.accepted+v1Padding:
		m.alert, m.open, m.since, m.lastShed = true, false, m.at, m.at
		m.grown, m.earlier = m.hasGrown(w), m.demand()
		return
	}
	m.rise.sum = min(m.rise.sum, v1LargestRise)
	m.open = m.open && m.at-m.since < v1Span
	if length := m.at - m.blockAt; length >= v1BlockLength {
		c := m.ever
		c.add(m.blockEver, -1)
		m.keep(blockV1{length.Seconds(), c.requests(), c.rejected, c.answers()})
	}
}

// keep adds a block to the quiet time, and begins the next one.
func (m *monitorV1) keep(b blockV1) {
	copy(m.blocks[:], m.blocks[1:])
	m.blocks[v1MaxBlocks-1] = b
	m.known = min(v1MaxBlocks, m.known+1)
	m.blockAt, m.blockEver = m.at, m.ever
	m.setRatios()
}

// demand returns the calls per second of the quiet time.
func (m *monitorV1) demand() float64 {
	var calls, seconds float64
	for _, b := range m.blocks[v1MaxBlocks-m.known:] {
		calls, seconds = calls+b.demand, seconds+b.seconds
	}
	return calls / max(1, seconds)
}

func (m *monitorV1) hasGrown(w *windowV1) bool {
	exceeds := func(t *tiersV1, usual float64) bool {
		return sumV1(t).requests() > (1+v1GrownShare)*usual+v1GrownDeviations*math.Sqrt(max(1, usual))
	}
	usual := m.demand() * v1Span.Seconds()
	return m.known >= v1KnownBlocks && (exceeds(&w.span, usual) || exceeds(&w.recent, usual/v1RecentPart))
}

// checkEnd ends the alert if nothing was shed for a window, or if the demand is back.
func (m *monitorV1) checkEnd(w *windowV1, span countsV1) {
	if m.at-m.since < v1Span {
		m.grown = m.grown || m.hasGrown(w)
		return
	}
	if span.shed > 0 {
		m.lastShed = m.at
	}
	if m.at-m.lastShed < v1Span && !m.isBack(w, span) {
		return
	}
	b := blockV1{v1Span.Seconds(), span.requests(), span.rejected, span.answers()}
	if m.known > 0 {
		b.demand = m.demand() * b.seconds
	}
	m.alert, m.open, m.since = false, span.shed > 0, m.at
	m.ratio.sum, m.rise.sum = 0, 0
	m.keep(b)
}

// isBack reports whether the demand has returned to what it was before it grew.
func (m *monitorV1) isBack(w *windowV1, span countsV1) bool {
	usual, recent := m.earlier*v1Span.Seconds(), sumV1(&w.recent)
	return m.grown && recent.shed > 0 && span.rejected < v1MostWhenBack*span.answers() &&
		span.requests() <= v1BackInWindow*usual && v1RecentPart*recent.requests() <= v1BackRecently*usual
}

// likelihoodV1 is a cumulative sum of log likelihood ratios.
type likelihoodV1 struct{ sum, accepted, rejected float64 }

func (l *likelihoodV1) distinguish(low, high float64) {
	l.accepted, l.rejected = math.Log((1-high)/(1-low)), math.Log(high/low)
}

func (l *likelihoodV1) add(c countsV1) {
	l.sum = max(0, l.sum+l.accepted*c.accepted+l.rejected*c.rejected)
}
