package throttle

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/feedback"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The constants of the monitor. examples/simulate plays the cases that they are made for.
const (
	// The ratios of rejections that the likelihood sums distinguish. Errors of 30 % are below
	// usualRatio, and overloads begin well above it. A rise is measured from the background.
	usualRatio, overloadRatio = 0.36, 0.70
	usualRise, overloadRise   = 0.05, 0.20
	// The alert begins at these sums, in nats. A throttle with more than fewAnswers in its window
	// needs a larger sum, so that false alerts are rare per hour, not per call.
	ratioLimit           = 7.5
	riseLimit, trialRise = 4, 5 // with more demand, and without
	largestRise          = 12
	// The same for the rejections of which the backend said that it is full. These are no errors, so
	// few of them are enough, at any demand.
	usualFull, overloadFull = 0.02, 0.15
	fullLimit               = 5
	fewAnswers              = 50
	// mostWhenBack is the largest ratio of rejections at which an alert ends while calls are shed.
	mostWhenBack = 0.4
)

// stance is what the monitor has decided. A published stance never changes.
type stance struct {
	alert      AlertReason
	open       bool    // not in alert, and tiers below the top shed nothing for a window
	relieved   bool    // open, and the top tier sheds nothing either
	hold       hold    // by a trial
	background float64 // share of the answers: rejections that do not count as overload
	saidFull   bool    // the backend has said in this alert that it is overloaded
	since      time.Duration
	settled    bool        // the alert has lasted a window
	lost       bool        // settled, and capacity was lost: the rejections came without more demand
	memory     *tierTotals // at the begin of what is remembered of this alert; nil if nothing is
}

func (s *stance) inAlert() bool { return s.alert != NoAlert }

// monitor decides whether Tiered is quiet or in alert. It looks at the sums over all tiers each time
// the decisions are refreshed.
//
// A client alone cannot test why it is rejected, because its own calls make no difference to the
// backend. But a change of its demand is an experiment that all clients see together. Rejections
// that come with more demand count as overload, and those that were there before are forgiven. At
// constant demand the alert begins if 30 % of errors cannot explain the rejections, if the backend says
// that it is full, or if the documented formula sheds. A jump of fewer rejections begins a trial, which all
// clients begin together too.
type monitor struct {
	stance
	span       time.Duration
	at         time.Duration // begin of the open bucket at the last update
	ever       window.Counts // totals at the last update
	ratio      likelihood    // of an overload, at any demand
	rise       likelihood    // of more rejections than the background
	full       likelihood    // of a backend that is full, from what it says
	riseAt     time.Duration // when the rise began
	riseEver   window.Counts // totals before it
	riseDemand float64       // the usual demand then, in calls per second
	riseClear  time.Duration // when it became clear enough for a trial
	fixed      float64       // Tuning.Background
	quiet      quietTime
	blockAt    time.Duration
	blockEver  window.Counts // totals at blockAt
	grown      bool          // the alert began with more demand
	earlier    float64       // demand before the alert, in calls per second
	shedAt     time.Duration // of the last window with a shed call, during an alert
	forgiven   float64       // ratio of the errors that were found in this alert
	trial      trial
	joined     joined
	doubtUntil time.Duration // a trial has found that the backend was not calm
	relief     relief
	mark       *tierTotals // the next memory; nil if nothing will be remembered
	markAt     time.Duration
}

// observation is what the monitor looks at: sums over all tiers.
type observation struct {
	span, ever     window.Counts
	recent, totals []window.Counts  // by tier, because few updates need the sums
	ratio, padding float64          // of the documented formula
	said           feedback.Summary // false if the backend says nothing, if its replicas differ, or if it is doubted
}

func newMonitor(span time.Duration) *monitor {
	m := &monitor{span: span}
	m.full.distinguish(usualFull, overloadFull)
	m.setRatios()
	return m
}

// update observes the totals at now, the begin of the open bucket. It reports whether the stance has
// changed. A throttle without a call in its window forgets everything.
func (m *monitor) update(now time.Duration, o *observation, background float64) bool {
	before, at := m.stance, m.at
	fresh := o.ever.Minus(m.ever)
	m.at, m.ever = now, o.ever
	if m.fixed != background {
		m.fixed, m.forgiven = background, 0 // it holds from now on, whatever was found
		m.setRatios()
	}
	m.relief.add(&fresh, &o.span)
	switch {
	case now < at || o.span.Requests() == 0:
		m.forget()
	case m.inAlert():
		m.watchAlert(fresh, now > at, o)
	default:
		m.sum(fresh)
		m.watch(o)
	}
	return m.stance != before
}

// isHealthy reports whether an update would change nothing but the time, and then sets the time. It
// is cheap, because healthy throttles refresh their decisions in each bucket too.
func (m *monitor) isHealthy(now time.Duration, o *observation, background float64) bool {
	healthy := o.span.Refused() == 0 && m.ratio.sum == 0 && m.rise.sum == 0 && m.full.sum == 0 && !m.inAlert() && !m.open &&
		o.span.Accepted > 0 && now >= m.at && now-m.blockAt < blockLength && m.fixed == background
	if healthy {
		m.at, m.ever = now, o.ever
	}
	return healthy
}

// forget sets the state of a new throttle.
func (m *monitor) forget() {
	if m.inAlert() {
		m.since = m.at
	}
	m.calm(false)
	m.quiet, m.trial, m.relief, m.doubtUntil = quietTime{}, trial{}, relief{}, 0
	m.startBlock()
	m.setRatios()
}

// calm ends an alert, and what belongs to it.
func (m *monitor) calm(open bool) {
	m.alert, m.open, m.relieved, m.hold, m.settled, m.lost = NoAlert, open, false, noHold, false, false
	m.ratio.sum, m.rise.sum, m.full.sum = 0, 0, 0
	m.trial.on, m.forgiven, m.relief.mixes = false, 0, false
	m.memory, m.mark = nil, nil
}

func (m *monitor) startBlock() { m.blockAt, m.blockEver = m.at, m.ever }

// setRatios sets the background, and the ratios that depend on it.
func (m *monitor) setRatios() {
	low := usualRatio
	if m.background = max(0, m.fixed); m.fixed == 0 {
		m.background = m.quiet.rejected()
	} else {
		low = max(low, m.background+usualRise+0.01)
	}
	m.ratio.distinguish(low, max(overloadRatio, low+0.2))
	m.rise.distinguish(m.background+usualRise, m.background+overloadRise)
}

func (m *monitor) sum(fresh window.Counts) {
	if m.rise.sum == 0 {
		m.riseAt, m.riseEver, m.riseDemand = m.at, m.ever.Minus(fresh), m.quiet.demand()
	}
	m.ratio.add(fresh)
	m.rise.add(fresh)
	if m.rise.sum <= trialRise {
		m.riseClear = m.at
	}
	m.full.add(window.Counts{Accepted: fresh.Accepted + fresh.Rejected - fresh.Full, Rejected: fresh.Full})
}

func (m *monitor) watch(o *observation) {
	sum := &o.span
	full := float64(fullLimit)
	if o.said.Overloaded {
		full = fullWhenSaid
	}
	switch {
	case m.full.exceeds(full, sum):
		m.begin(FullAlert, o)
	case m.ratio.exceeds(ratioLimit, sum) || m.relieved && m.rise.sum > relapse:
		m.begin(RatioAlert, o)
	case !m.isForgiven(o) && m.rise.sum > riseLimit && m.isClear() && m.quiet.hasGrown(o, m.span):
		m.begin(GrowthAlert, o)
	case m.rise.sum > trialRise && m.isClear() && m.mayTry(o):
		m.begin(TrialAlert, o)
	case m.mustTryAgain(o):
		m.riseEver = m.ever.Minus(o.span)
		m.begin(TrialAlert, o)
	case !m.open && sum.Shed > 0 && requests(sum) > o.ratio*float64(sum.Accepted)+o.padding:
		m.begin(FormulaAlert, o)
	default:
		m.stayQuiet(o)
	}
}

// jump returns the answers since rejections began to be more.
func (m *monitor) jump() window.Counts { return m.ever.Minus(m.riseEver) }

// isClear reports whether the answers since a rise are enough.
func (m *monitor) isClear() bool {
	c := m.jump()
	isPlain := c.Rejected > plain && float64(c.Rejected) >= plainRatio*answersOf(&c)
	return m.ratio.sum <= leastInDoubt && (isPlain || answersOf(&c) >= trialAnswers || m.at-m.riseAt >= trialPatience)
}

// mayTry reports whether a trial may begin although the demand has not grown.
func (m *monitor) mayTry(o *observation) bool {
	c := m.jump()
	return m.fixed == 0 && !m.open && m.quiet.isKnown() && canTell(&c, mostTried) && m.isWorthIt(&c, o) &&
		doubtful(&c) >= leastTried && doubtful(&o.span) >= leastTried/2
}

// mustTryAgain reports whether what a trial has found must be tried again.
func (m *monitor) mustTryAgain(o *observation) bool {
	t := &m.trial
	return t.attempts > 0 && m.at >= t.next && m.at >= m.relief.next && m.fixed == 0 && !m.open && m.isWorthIt(&o.span, o) &&
		doubtful(&o.span) >= leastTried && canTell(&o.span, mostTried)
}

// stayQuiet keeps a block that has ended.
func (m *monitor) stayQuiet(o *observation) {
	m.rise.sum = min(m.rise.sum, largestRise)
	m.open = m.open && m.at-m.since < m.span
	if m.relieved && m.at-m.since >= m.span/2 {
		m.relieved, m.relief.attempts = m.open, 0 // it was true
	}
	if o.said.Overloaded {
		m.startBlock() // what is shed because the backend says so is not in the counts
	}
	if length := m.at - m.blockAt; length >= blockLength {
		c := m.ever.Minus(m.blockEver)
		m.quiet.add(newBlock(&c, length))
		m.startBlock()
		before := m.background
		if m.setRatios(); m.background > before {
			m.rise.sum = 0 // what it has summed up is usual now
		}
	}
}

func (m *monitor) begin(reason AlertReason, o *observation) {
	relapsed := m.at < m.relief.next
	m.calm(false)
	m.alert, m.since, m.shedAt = reason, m.at, m.at
	m.grown, m.earlier = m.quiet.hasGrown(o, m.span), m.quiet.demand()
	m.joined, m.saidFull = joined{}, o.said.Overloaded
	if reason != GrowthAlert {
		m.setMark(o)
	}
	m.startBlock()
	if m.fixed != 0 {
		return
	}
	most, c, forgiven := mostTried, m.jump(), m.isBelieved(o)
	if m.grown && !forgiven {
		most = mostTriedGrown
	}
	switch {
	case !forgiven && m.trial.rises(m.at, requests(&o.span)):
		m.background = 0
	case reason != RatioAlert && !relapsed && canTell(&c, most):
		m.trial.begin(m.at, c, most, m.demand(o))
		m.hold = holding
		if forgiven {
			m.trial.next, m.trial.forLoad = m.at+longestWait, limitIfCalm
		}
	}
}

// demand returns the calls of a window, now or recently.
func (m *monitor) demand(o *observation) float64 {
	recent := window.Sum(o.recent)
	return max(requests(&o.span), recentPart*requests(&recent))
}

func answersOf(c *window.Counts) float64 { return float64(c.Accepted + c.Rejected) }
