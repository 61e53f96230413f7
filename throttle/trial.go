package throttle

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// A trial begins with trialAnswers since rejections began to be more, or after trialPatience. Without a
	// growth of demand, leastTried of the answers must be rejected. More than mostTried is load, see
	// usualRatio, and so is more than mostTriedGrown with more demand.
	trialAnswers              = 24
	trialPatience             = 3 * time.Second
	leastTried                = 0.15
	mostTried, mostTriedGrown = 0.55, 0.42
	// More rejections than plain, at plainRatio, are load without a trial. At leastInDoubt nats for an
	// overload, a trial waits.
	plain, plainRatio = 5, 0.75
	leastInDoubt      = 2
	// A trial sends heldShare of the calls. Answers count while fewer than noticed of the calls are sent.
	// Then the ratio of rejections falls to loadLeaves, if load is the cause.
	heldShare, noticed = 0.55, 0.75
	loadLeaves         = 0.35
	// The rejections before are fewTooMany standard errors too many: the trial began because they were many.
	fewTooMany = 0.5
	// trialLimit is the evidence for a verdict of errors, in nats, and loadLimit for one of load: that is not tried
	// again while calls are shed. After trialTime, the nearer side is enough.
	trialLimit, loadLimit   = 3, 3.5
	settleTime              = time.Second
	trialTime, longestTrial = 4 * time.Second, 30 * time.Second
	// After longestTrial it is errors if fewer than fewTried of the answers are rejected and the calls are at most
	// steady times as many as before. Otherwise it is load.
	fewTried, steady = 0.2, 1.1
	// More rejections than manyTried are errors only with trialLimit.
	manyTried = 0.4
	// Rejections that have grown with the demand, by verdictGrowth in verdictTime after a verdict of errors,
	// are load.
	verdictTime, verdictGrowth = 2 * time.Minute, 1.3
	longestWait                = 2 * time.Minute
)

// trialWait returns how long the next trial waits while rejections stay.
func trialWait(attempts int) time.Duration {
	switch attempts {
	case 0:
		return 10 * time.Second
	case 1:
		return 30 * time.Second
	}
	return longestWait
}

// trial separates errors and load, which look alike until fewer calls are sent: then load causes fewer
// rejections, and errors are as many as before. A single client makes no difference to the backend. But
// all clients see a jump of rejections in the same second, so their trials coincide.
type trial struct {
	on       bool
	since    time.Duration
	most     float64       // the ratio of rejections above which it is load
	forLoad  float64       // the evidence for a verdict of load, in nats
	demand   float64       // calls of a window
	before   window.Counts // answers before fewer calls were sent
	held     window.Counts // answers since
	next     time.Duration // no trial without a jump begins before
	attempts int
	// Of the last verdict of errors:
	found      float64 // calls of a window
	foundUntil time.Duration
}

// hold is what a trial does to the calls below the top tier.
type hold uint8

const (
	noHold hold = iota
	// holding sends heldShare of all calls.
	holding
	// sparing sends heldShare of all calls at least.
	sparing
)

type verdict uint8

const (
	noVerdict verdict = iota
	isErrors
	isLoad
	isDoubtful // for too long: the rejections are shed for, but not without a limit
)

// canTell reports whether a trial can tell why calls were rejected: not if too many were, or if the backend
// said why.
func canTell(c *window.Counts, most float64) bool {
	return doubtful(c) <= most && 2*c.Full < c.Rejected
}

// begin begins a trial with the answers since rejections began to be more. The last of these made it
// begin, so it says nothing.
func (t *trial) begin(now time.Duration, jump window.Counts, most, demand float64) {
	jump.Rejected -= min(jump.Rejected, 1)
	t.on, t.since, t.most, t.demand = true, now, most, demand
	t.before, t.held, t.forLoad = jump, window.Counts{}, loadLimit
	t.next = now + trialWait(t.attempts)
	t.attempts++
}

// look adds answers, if enough of the recent calls were shed, and returns the verdict.
func (t *trial) look(now time.Duration, fresh, recent, span window.Counts) verdict {
	age := now - t.since
	if age < settleTime {
		return noVerdict // other clients may not have begun
	}
	if answersOf(&recent) <= noticed*requests(&recent) {
		t.held = plus(&t.held, &fresh)
	}
	evidence := evidenceForErrors(&t.before, &t.held)
	switch {
	case doubts(&t.held)-math.Sqrt(doubts(&t.held)) > t.most*answersOf(&t.held):
		return isLoad
	case requests(&span) > verdictGrowth*t.demand && age > blockLength:
		return isLoad // the calls before were fewer: they tell nothing
	case evidence > trialLimit, age > trialTime && evidence > t.lenience():
		return isErrors
	case age > longestTrial && doubtful(&t.before) < fewTried && requests(&span) <= steady*t.demand:
		return isErrors
	case evidence < -t.forLoad, age > longestTrial:
		return isLoad
	case age > trialTime:
		return isDoubtful
	}
	return noVerdict
}

// lenience is the evidence that is enough after a while: few rejections do little harm if they are
// forgiven, and many are rarely errors.
func (t *trial) lenience() float64 {
	switch ratio := doubtful(&t.before); {
	case ratio < leastTried:
		return -1
	case ratio > manyTried:
		return trialLimit
	}
	return 0
}

// find records a verdict of errors, and returns their ratio.
func (t *trial) find(now time.Duration, demand float64) float64 {
	if evidenceForErrors(&t.before, &t.held) > trialLimit {
		t.next = now + longestWait
	}
	t.found, t.foundUntil = demand, now+verdictTime
	all := plus(&t.before, &t.held)
	return cautiousRatio(&all)
}

// rises reports whether the demand has grown since a verdict of errors. If rejections have grown with it,
// the verdict was wrong.
func (t *trial) rises(now time.Duration, demand float64) bool {
	return now < t.foundUntil && demand > verdictGrowth*t.found
}

// evidenceForErrors returns how much better errors explain the answers before and since fewer calls were
// sent than load, in nats. Without answers since, it is 0, and not what rounding leaves.
func evidenceForErrors(before, since *window.Counts) float64 {
	if answersOf(since) == 0 {
		return 0
	}
	return explain(before, since, 1) - explain(before, since, loadLeaves)
}

// explain returns how well a ratio of rejections explains answers, in nats, if it falls to a share of it
// when fewer calls are sent. It is the best ratio for that share.
func explain(before, since *window.Counts, share float64) float64 {
	r0, r1 := doubts(before), doubts(since)
	a0, a1 := answersOf(before)-r0, answersOf(since)-r1
	r0 -= fewTooMany * math.Sqrt(r0)
	// The likelihood is largest at the smaller root of square*x^2 - linear*x + r0+r1.
	square, linear := share*(r0+r1+a0+a1), (r0+r1)*(1+share)+a0+share*a1
	x := 2 * (r0 + r1) / (linear + math.Sqrt(max(0, linear*linear-4*square*(r0+r1))))
	x = min(max(x, 1e-6), 1-1e-6)
	return (r0+r1)*math.Log(x) + r1*math.Log(share) + a0*math.Log(1-x) + a1*math.Log(1-share*x)
}

// cautiousRatio returns a ratio of rejections that is probably not too large.
func cautiousRatio(c *window.Counts) float64 {
	return min(maxMeasuredBackground, (doubts(c)-math.Sqrt(doubts(c)))/max(1, answersOf(c)))
}

// doubts returns the rejections of which the backend did not say that it is full.
func doubts(c *window.Counts) float64 { return float64(c.Rejected - c.Full) }

func doubtful(c *window.Counts) float64 { return doubts(c) / max(1, answersOf(c)) }

func plus(a, b *window.Counts) window.Counts {
	return window.Counts{Accepted: a.Accepted + b.Accepted, Rejected: a.Rejected + b.Rejected, Full: a.Full + b.Full, Shed: a.Shed + b.Shed}
}
