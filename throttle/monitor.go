package throttle

import (
	"math"
	"time"

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
	ratioLimit, riseLimit = 7.5, 4
	largestRise           = 12
	// The same for the rejections of which the backend said that it is full. These are no errors, so
	// few of them are enough, at any demand.
	usualFull, overloadFull = 0.02, 0.15
	fullLimit               = 5
	fewAnswers              = 50
	// Demand has grown if it exceeds the earlier demand by this share, and by this number of
	// standard deviations. It is back below these multiples of the earlier demand.
	grownShare, grownDeviations = 0.2, 3
	backInWindow, backRecently  = 1.2, 1.5
	// mostWhenBack is the largest ratio of rejections at which an alert ends while calls are shed.
	mostWhenBack = 0.4
	// The monitor compares with blocks of quiet time. The earlier demand and the
	// background are known after knownBlocks.
	blockLength           = 10 * time.Second
	knownBlocks           = 3
	maxBlocks             = 2 * knownBlocks
	maxMeasuredBackground = 0.4
)

// stance is what the monitor has decided. A published stance never changes.
type stance struct {
	alert      AlertReason
	open       bool    // not in alert, and tiers below the top shed nothing for a window
	background float64 // share of the answers: rejections that do not count as overload
	since      time.Duration
}

func (s *stance) inAlert() bool { return s.alert != NoAlert }

// monitor decides whether Tiered is quiet or in alert. It looks at the sums over all tiers each time
// the decisions are refreshed.
//
// A client alone cannot test why it is rejected, because its own calls make no difference to the
// backend. But a change of its demand is an experiment that all clients see together. Rejections
// that come with more demand count as overload, and those that were there before are forgiven. At
// constant demand the alert begins if 30 % of errors cannot explain the rejections, or if the
// documented formula sheds.
type monitor struct {
	stance
	span      time.Duration
	at        time.Duration // begin of the open bucket at the last update
	ever      window.Counts // totals at the last update
	ratio     likelihood    // of an overload, at any demand
	rise      likelihood    // of more rejections than the background
	full      likelihood    // of a backend that is full, from what it says
	fixed     float64       // Tuning.Background
	blocks    [maxBlocks]block
	known     int // number of blocks, the newest last
	blockAt   time.Duration
	blockEver window.Counts // totals at blockAt
	grown     bool          // the alert began with more demand
	earlier   float64       // demand before the alert, in calls per second
	shedAt    time.Duration // of the last window with a shed call, during an alert
}

// block is a part of the quiet time.
type block struct {
	seconds, demand, rejected, answers float64
}

// observation is what the monitor looks at: sums over all tiers.
type observation struct {
	span, ever     window.Counts
	recent         []window.Counts // by tier, because few updates need the sum
	ratio, padding float64         // of the documented formula
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
		m.fixed = background
		m.setRatios()
	}
	switch {
	case now < at || o.span.Requests() == 0:
		m.forget()
	case m.inAlert():
		if now > at {
			m.checkEnd(o)
		}
	default:
		m.ratio.add(fresh)
		m.rise.add(fresh)
		m.full.add(window.Counts{Accepted: fresh.Accepted + fresh.Rejected - fresh.Full, Rejected: fresh.Full})
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
	m.alert, m.open, m.known = NoAlert, false, 0
	m.ratio.sum, m.rise.sum, m.full.sum = 0, 0, 0
	m.startBlock()
	m.setRatios()
}

// startBlock begins a block of quiet time.
func (m *monitor) startBlock() { m.blockAt, m.blockEver = m.at, m.ever }

// setRatios sets the background, and the ratios that depend on it.
func (m *monitor) setRatios() {
	low := usualRatio
	if m.background = max(0, m.fixed); m.fixed == 0 {
		m.background = m.measured()
	} else {
		low = max(low, m.background+usualRise+0.01)
	}
	m.ratio.distinguish(low, max(overloadRatio, low+0.2))
	m.rise.distinguish(m.background+usualRise, m.background+overloadRise)
}

// measured returns the ratio of rejections that both halves of the quiet time had at least. The newer
// half may already hold the begin of an overload.
func (m *monitor) measured() float64 {
	if m.known < knownBlocks {
		return 0
	}
	quiet := m.blocks[maxBlocks-m.known:]
	older, newer := quiet[:m.known/2], quiet[m.known/2:]
	return min(maxMeasuredBackground, rejectedOf(older), rejectedOf(newer))
}

// rejectedOf returns the ratio of rejections in blocks.
func rejectedOf(blocks []block) float64 {
	var rejected, answers float64
	for _, b := range blocks {
		rejected, answers = rejected+b.rejected, answers+b.answers
	}
	return rejected / max(1, answers)
}

// watch begins an alert, or stays quiet.
func (m *monitor) watch(o *observation) {
	sum := &o.span
	switch {
	case m.full.exceeds(fullLimit, sum):
		m.begin(FullAlert, o)
	case m.ratio.exceeds(ratioLimit, sum):
		m.begin(RatioAlert, o)
	case m.rise.sum > riseLimit && m.hasGrown(o):
		m.begin(GrowthAlert, o)
	case !m.open && sum.Shed > 0 && requests(sum) > o.ratio*float64(sum.Accepted)+o.padding:
		m.begin(FormulaAlert, o)
	default:
		m.stayQuiet()
	}
}

// stayQuiet keeps a block that has ended.
func (m *monitor) stayQuiet() {
	m.rise.sum = min(m.rise.sum, largestRise)
	m.open = m.open && m.at-m.since < m.span
	if length := m.at - m.blockAt; length >= blockLength {
		c := m.ever.Minus(m.blockEver)
		m.keep(block{length.Seconds(), requests(&c), float64(c.Rejected - c.Full), answersOf(&c)})
	}
}

// keep adds a block to the quiet time, and begins the next one.
func (m *monitor) keep(b block) {
	copy(m.blocks[:], m.blocks[1:])
	m.blocks[maxBlocks-1] = b
	m.known = min(maxBlocks, m.known+1)
	m.startBlock()
	m.setRatios()
}

// demand returns the calls per second of the quiet time.
func (m *monitor) demand() float64 {
	var calls, seconds float64
	for _, b := range m.blocks[maxBlocks-m.known:] {
		calls, seconds = calls+b.demand, seconds+b.seconds
	}
	return calls / max(1, seconds)
}

// hasGrown reports whether the demand is larger than in the quiet time: in the window, or recently.
func (m *monitor) hasGrown(o *observation) bool {
	if m.known < knownBlocks {
		return false
	}
	usual := m.demand() * m.span.Seconds()
	recent := window.Sum(o.recent)
	return exceeds(&o.span, usual) || exceeds(&recent, usual/recentPart)
}

// exceeds reports whether the demand is clearly larger than usual.
func exceeds(c *window.Counts, usual float64) bool {
	return requests(c) > (1+grownShare)*usual+grownDeviations*math.Sqrt(max(1, usual))
}

func (m *monitor) begin(reason AlertReason, o *observation) {
	m.alert, m.open, m.since, m.shedAt = reason, false, m.at, m.at
	m.grown, m.earlier = m.hasGrown(o), m.demand()
}

// checkEnd ends the alert if nothing was shed for a window, or if the demand is back. An alert lasts
// a window at least.
func (m *monitor) checkEnd(o *observation) {
	if m.at-m.since < m.span {
		m.grown = m.grown || m.hasGrown(o)
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
// shed would look like an overload again.
func (m *monitor) end(o *observation) {
	c := &o.span
	b := block{m.span.Seconds(), requests(c), float64(c.Rejected - c.Full), answersOf(c)}
	if m.known > 0 {
		b.demand = m.demand() * b.seconds
	}
	m.alert, m.open, m.since = NoAlert, c.Shed > 0, m.at
	m.ratio.sum, m.rise.sum, m.full.sum = 0, 0, 0
	m.keep(b)
}

func answersOf(c *window.Counts) float64 { return float64(c.Accepted + c.Rejected) }

// likelihood is a cumulative sum of log likelihood ratios: how much better a high ratio of
// rejections explains the answers than a low one.
type likelihood struct {
	sum, accepted, rejected float64
}

func (l *likelihood) distinguish(low, high float64) {
	l.accepted, l.rejected = math.Log((1-high)/(1-low)), math.Log(high/low)
}

// exceeds reports whether the sum is above a limit, which is larger if the window has many answers.
func (l *likelihood) exceeds(limit float64, sum *window.Counts) bool {
	return l.sum > limit && l.sum > limit+math.Log(answersOf(sum)/fewAnswers)
}

func (l *likelihood) add(c window.Counts) {
	l.sum = max(0, l.sum+l.accepted*float64(c.Accepted)+l.rejected*float64(c.Rejected))
}
