package throttle

import "github.com/spillway-go/spillway/throttle/internal/window"

// watchAlert looks whether an alert is over, and whether it is one.
func (m *monitor) watchAlert(fresh window.Counts, newBucket bool, o *observation) {
	if m.relief.isHere(m.at) && m.quiet.isKnown() && !m.quiet.hasGrown(o, m.span) {
		m.relieve()
		return
	}
	if m.saysItIsOver(o) {
		m.end(o)
		return
	}
	if m.trial.on {
		m.judge(fresh, o)
	} else {
		m.findErrors(o)
	}
	if newBucket && m.inAlert() {
		m.settled = m.at-m.since >= m.span
		m.lost = m.settled && m.alert == RatioAlert && !m.grown
		m.remember(o)
		m.checkEnd(o)
	}
}

// relieve ends the alert, because all works again. Nothing is shed for a window.
func (m *monitor) relieve() {
	m.relief.plan(m.at)
	m.calm(true)
	m.relieved, m.since = true, m.at
	m.ratio.sum = ratioLimit / 2
	m.startBlock()
}

// judge shows the answers to a trial, and follows its verdict.
func (m *monitor) judge(fresh window.Counts, o *observation) {
	switch m.trial.look(m.at, fresh, window.Sum(o.recent), o.span) {
	case isErrors:
		m.forgiven = m.trial.find(m.at, m.demand(o))
		m.end(o)
	case isLoad:
		m.trial.on, m.hold = false, noHold
		m.doubtUntil = m.at + verdictTime
	case isDoubtful:
		m.hold = sparing
	case noVerdict:
	}
}

// findErrors forgives errors that have joined an overload, as long as they last.
func (m *monitor) findErrors(o *observation) {
	m.joined.saysFull = m.joined.saysFull || o.span.Full > 0
	if doubt := doubtful(&o.span); m.forgiven > doubt {
		m.background, m.forgiven = doubt, doubt
	}
	if m.fixed != 0 || m.at-m.blockAt < joinedLength || m.at-m.since < m.span {
		return
	}
	c := m.ever.Minus(m.blockEver)
	m.startBlock()
	if ratio, found := m.joined.compare(&c, m.background); found {
		m.background, m.forgiven = ratio, ratio
	}
}

// checkEnd ends the alert if nothing was shed for a window, or if the demand is back. An alert lasts
// a window at least.
func (m *monitor) checkEnd(o *observation) {
	if m.at-m.since < m.span {
		m.grown = m.grown || m.quiet.hasGrown(o, m.span)
		return
	}
	if o.span.Shed > 0 {
		m.shedAt = m.at
	}
	if m.at-m.shedAt >= m.span || m.isBack(o) {
		m.end(o)
	}
}

// isBack reports whether the demand has returned to what it was before it grew. Then it is not the
// cause of the rejections that are left, unless the backend says so.
func (m *monitor) isBack(o *observation) bool {
	usual, recent := m.earlier*m.span.Seconds(), window.Sum(o.recent)
	return m.grown && recent.Shed > 0 && o.span.Full == 0 && float64(o.span.Rejected) < mostWhenBack*answersOf(&o.span) &&
		requests(&o.span) <= backInWindow*usual && recentPart*requests(&recent) <= backRecently*usual
}

// end ends the alert. Tiers below the top shed nothing for a window, because the calls that were
// shed would look like an overload again. Errors that were found are usual from now on.
func (m *monitor) end(o *observation) {
	b, errors := newBlock(&o.span, m.span), m.forgiven
	m.calm(o.span.Shed > 0)
	m.since = m.at
	if errors > 0 {
		b.rejected = errors * b.answers
		m.quiet.replace(b)
	} else {
		if m.quiet.known > 0 {
			b.demand = m.quiet.demand() * b.seconds
		}
		m.quiet.add(b)
	}
	m.startBlock()
	m.setRatios()
}
